/// The reason why a request is refused before a route gets it: its status, a code for programs and a message.
/// The connection closes, because the bytes that follow are ambiguous or too expensive to read.
struct HTTPRefusal: Error, Equatable {
    let status: Int
    let code: String
    let message: String

    init(status: Int, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    var response: HTTPResponse {
        var response = HTTPResponse.error(status: status, code: code, message: message)
        response.closesConnection = true
        return response
    }

    /// The whole answer as bytes, for a connection on which libmicrohttpd can no longer answer.
    func bytes(withRequestID id: String) -> [UInt8] {
        let body = response.body
        let head = """
            HTTP/1.1 \(status) \(Self.reasonPhrase(for: status))\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \(RequestID.headerName): \(id)\r
            Connection: close\r
            \r

            """
        return Array(head.utf8) + body
    }

    /// Returns the phrase for a status that `bytes` is used with.
    private static func reasonPhrase(for status: Int) -> String {
        switch status {
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        default: "Refused"
        }
    }

    static func malformed(_ message: String) -> HTTPRefusal {
        HTTPRefusal(status: 400, code: "bad_request", message: message)
    }

    static func tooSlow(_ message: String) -> HTTPRefusal {
        HTTPRefusal(status: 408, code: "too_slow", message: message)
    }

    static func bodyTooLarge(max: Int) -> HTTPRefusal {
        HTTPRefusal(
            status: 413, code: "body_too_large",
            message: "the body may have \(max) bytes; send smaller bodies")
    }
}
