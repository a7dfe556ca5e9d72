internal import HTTPServer
internal import JSON
internal import Sends

/// The reader of a `POST /v1/sends/batch` body: `{"sends": [{…}, {…}]}`. Each send has the members of a `POST /v1/sends`
/// body, and perhaps an `idempotencyKey`.
enum SendBatchBody {
    private static let keyMember: StaticString = "idempotencyKey"
    private static let keyHeader = "Idempotency-Key"

    /// Returns the input of each send, as if each came with its own request. Only the batch itself is checked here.
    static func inputs(in context: RequestContext, requestID: String) throws(RefusedRequest) -> [RequestInput]
    {
        if context.headers[keyHeader] != nil {
            throw RefusedRequest([
                RequestProblem(
                    code: "not_allowed", at: keyHeader,
                    message: "is the key of one send; give each send of a batch its own idempotencyKey")
            ])
        }
        let object = try context.bodyRoot().object()
        let sends = object["sends"]
        var inputs: [RequestInput] = []
        var elements = sends.array(countMax: GatewayLimits.sendsPerBatchMax)
        while let element = elements.next() { inputs.append(input(from: element, requestID: requestID)) }
        if inputs.isEmpty, sends.kind == .array {
            sends.report("must have 1 to \(GatewayLimits.sendsPerBatchMax) sends", as: .outOfRange)
        }
        object.reportUnknownFields()
        try context.throwProblems()
        return inputs
    }

    /// Returns the input of one send. Its body lacks the key, so that it equals the body of a single request.
    private static func input(from element: JSONValue, requestID: String) -> RequestInput {
        // The decision about this send reports that its body is not an object.
        guard element.kind == .object else {
            return RequestInput(id: requestID, body: element.rawJSON().bytes, headers: [:])
        }
        let object = element.object()
        var headers: HTTPHeaders = [:]
        if let key = object[keyMember].optional { headers.add(keyHeader, value: key.string()) }
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        for (name, value) in object.members where name != keyMember.description {
            json.name(name)
            unsafe json.raw(value.raw)
        }
        json.endObject()
        return RequestInput(id: requestID, body: json.bytes, headers: headers)
    }
}
