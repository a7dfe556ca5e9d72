/// A request that is refused before any route is matched. The connection closes, because the bytes that
/// follow are ambiguous or too expensive to read.
struct HTTPRefusal: Error, Equatable {
    let status: Int
    let code: String
    let message: String

    init(_ status: Int, _ code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    var response: HTTPResponse {
        var response = HTTPResponse.error(status, code, message: message)
        response.closes = true
        return response
    }

    /// The whole answer as bytes, for a connection on which libmicrohttpd can no longer answer.
    var bytes: [UInt8] {
        let body = response.body
        let head = """
            HTTP/1.1 \(status) \(Self.reason(status))\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r

            """
        return Array(head.utf8) + body
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        default: "Refused"
        }
    }

    static func malformed(_ message: String) -> HTTPRefusal {
        HTTPRefusal(400, "bad_request", message: message)
    }

    static func slow(_ message: String) -> HTTPRefusal { HTTPRefusal(408, "too_slow", message: message) }

    static func bodyTooLarge(max: Int) -> HTTPRefusal {
        HTTPRefusal(413, "body_too_large", message: "the body may have \(max) bytes; send smaller bodies")
    }
}
