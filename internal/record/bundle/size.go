package bundle

import "reflect"

// Size returns roughly how many bytes of memory the iterations and scrapes of an observation take.
func (o *Observation) Size() int64 {
	n := behind(reflect.ValueOf(o.Iterations)) + behind(reflect.ValueOf(o.Scrapes))
	if o.Confirm != nil && o.Confirm.Alone != nil {
		n += o.Confirm.Alone.Size()
	}
	return n
}

// Size returns roughly how many bytes of memory an iteration takes.
func (it *Iteration) Size() int64 { return behind(reflect.ValueOf(it)) }

// behind returns how many bytes of memory a value leads to, without its own.
func behind(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return int64(v.Type().Elem().Size()) + behind(v.Elem())
	case reflect.Struct:
		var n int64
		for i := range v.NumField() {
			n += behind(v.Field(i))
		}
		return n
	case reflect.Slice:
		of := v.Type().Elem()
		n := int64(v.Cap()) * int64(of.Size())
		if of.Kind() == reflect.Struct || of.Kind() == reflect.String {
			for i := range v.Len() {
				n += behind(v.Index(i))
			}
		}
		return n
	case reflect.Map:
		n := int64(v.Len()) * int64(v.Type().Key().Size()+v.Type().Elem().Size())
		for all := v.MapRange(); all.Next(); {
			n += behind(all.Key()) + behind(all.Value())
		}
		return n
	default:
		return 0
	}
}

// Outline drops the evidence of an observation that is judged and stored. It keeps what rules
// about the whole run are judged by: the processes and the scrapes.
func (o *Observation) Outline() {
	if o.Confirm != nil && o.Confirm.Alone != nil {
		o.Confirm.Alone.Outline()
	}
	for it := range Each(o.Iterations) {
		*it = Iteration{Index: it.Index, Started: it.Started, Ended: it.Ended, Processes: it.Processes, Defect: it.Defect}
	}
}
