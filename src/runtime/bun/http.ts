// HTTP for Bun: the node:http adapter, which bounds connections in number and time; Bun's own server
// says nothing of connections.

export { serve } from "../node/http.ts";
