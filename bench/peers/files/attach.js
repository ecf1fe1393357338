// One stream of stdio over WebSocket as k6 opens it: it counts nothing and checks nothing.
import ws from 'k6/ws';

export default function () {
  ws.connect(__ENV.URL, {}, function (socket) {
    socket.on('binaryMessage', function () {});
    socket.on('message', function () {});
  });
}
