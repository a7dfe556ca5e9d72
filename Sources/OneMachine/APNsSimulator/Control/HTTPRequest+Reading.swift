internal import HTTPServer
internal import JSON

/// Readers of the body and the query of a request to the control API. They throw a `ControlRefusal` or a `JSONError`,
/// which `HTTPRoutes.control` turns into the answer.
extension HTTPRequest {
    /// Reads the body as one JSON value. A missing body counts as an empty object.
    func readJSON<Value>(
        limits: JSONLimits = JSONLimits(bytesMax: HTTPRoutes.controlBodyBytesMax),
        decode: (JSONValue) -> Value
    ) throws -> Value {
        try JSONReader(limits: limits).read(body.isEmpty ? Array("{}".utf8) : body, decode: decode)
    }

    /// Returns a number of the query, or `fallback` if it is missing.
    func queryNumber(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws -> Int {
        guard let text = query(named: name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw ControlRefusal(
                status: 400, code: "bad_query",
                message: "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns a Boolean of the query, or false if it is missing.
    func queryFlag(_ name: String) throws -> Bool {
        guard let text = query(named: name) else { return false }
        guard let flag = Bool(text) else {
            throw ControlRefusal(status: 400, code: "bad_query", message: "\(name) must be true or false")
        }
        return flag
    }

    /// Throws a refusal if the query has another field than these.
    func refuseUnknownQuery(known: String...) throws {
        for field in query where !known.contains(field.name) {
            throw ControlRefusal(
                status: 400, code: "bad_query",
                message: "unknown field \(field.name); known fields are \(known.joined(separator: ", "))")
        }
    }
}
