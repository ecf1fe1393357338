// One call of Start as k6 sends it: Connect, JSON, one envelope.
import http from 'k6/http';

const message = '{"process":{"cmd":"/bin/sh","args":["-c","seq 1 20"]}}';
const body = new Uint8Array(5 + message.length);
body[4] = message.length;
for (let i = 0; i < message.length; i++) body[5 + i] = message.charCodeAt(i);
const params = { headers: { 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1' } };

export default function () {
  http.post(__ENV.URL, body.buffer, params);
}
