/// A parser of one HTTP/1.1 answer, which arrives in pieces of any size. Each answer needs a new parser.
package struct HTTPResponseParser {
    package enum ParseResult: Equatable {
        case needsMore
        /// `keepsAlive` tells whether the connection may carry another request.
        case complete(HTTPClientResponse, keepsAlive: Bool)
        case malformed
    }

    /// The handling of a body that is longer than the limit.
    package enum LongBody {
        /// The answer is malformed.
        case malformed
        /// The body is not read, because only the status matters. The answer is complete after its head.
        case ignored
    }

    /// The limit of the status line and the headers. A longer head is malformed.
    static let headBytesMax = 16 * 1024
    /// The default limit of `Content-Length`.
    package static let bodyBytesDefault = 4 << 20
    /// The limit for answers of other processes of the same stage. The largest one is a page of 5,000 events with the
    /// longest names.
    package static let memberBodyBytesMax = 32 << 20

    private let bodyBytesMax: Int
    private let longBody: LongBody

    /// The bytes of the head so far, up to the empty line.
    private var head: [UInt8] = []
    /// The status of the final answer. Nil until its head is complete.
    private var status: Int?
    private var keepsAlive = true
    /// The body's length by the head. Nil if the head has no `Content-Length`.
    private var contentLength: Int?
    private var body: [UInt8] = []
    private var retryAfterSeconds: Int?

    /// - Parameter longBody: The handling of a body that is longer than the limit.
    package init(
        bodyBytesMax: Int = HTTPResponseParser.bodyBytesDefault, longBody: LongBody = .malformed
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.longBody = longBody
    }

    /// Parses the next piece of the answer.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer) -> ParseResult {
        var remaining = unsafe bytes[...]
        while status == nil {
            guard let byte = unsafe remaining.popFirst() else { return .needsMore }
            head.append(byte)
            guard head.count <= Self.headBytesMax else { return .malformed }
            if byte == UInt8(ascii: "\n"), head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard parseHead() else { return .malformed }
            }
        }
        guard let status else { return .needsMore }
        guard let contentLength, contentLength <= bodyBytesMax else {
            return .complete(response(status: status, body: nil), keepsAlive: false)
        }
        let missing = contentLength - body.count
        unsafe body.append(contentsOf: remaining.prefix(missing))
        if body.count < contentLength { return .needsMore }
        // Bytes after the body belong to no answer, and might be read as the next one.
        let endsWithBody = unsafe remaining.count == missing
        return .complete(response(status: status, body: body), keepsAlive: keepsAlive && endsWithBody)
    }

    private func response(status: Int, body: [UInt8]?) -> HTTPClientResponse {
        HTTPClientResponse(status: status, body: body, retryAfterSeconds: retryAfterSeconds)
    }

    /// Parses a complete head. Returns false if it is malformed. After the head of an interim answer (1xx)
    /// `status` is still nil, and the next head follows.
    private mutating func parseHead() -> Bool {
        guard let text = String(validating: head, as: UTF8.self) else { return false }
        head.removeAll(keepingCapacity: true)
        let lines = text.split(separator: "\r\n")
        let statusLine = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard statusLine.count >= 2, statusLine[0].hasPrefix("HTTP/1."), statusLine[1].utf8.count == 3,
            let number = Int(statusLine[1]), (100...599).contains(number)
        else { return false }
        if number < 200 { return true }
        status = number
        guard parseHeaders(lines.dropFirst()) else { return false }
        // These two never have a body. The length of a 304 is that of another answer's body.
        if number == 204 || number == 304 { contentLength = 0 }
        if statusLine[0] == "HTTP/1.0" { keepsAlive = false }
        return true
    }

    private mutating func parseHeaders(_ lines: ArraySlice<Substring>) -> Bool {
        var isChunked = false
        for line in lines {
            // A value may be empty.
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return false }
            let value = Self.trimmed(parts[1])
            switch parts[0].lowercased() {
            case "content-length":
                guard let length = Int(value), length >= 0,
                    length <= bodyBytesMax || longBody == .ignored
                else { return false }
                contentLength = length
            case "connection": if value.lowercased() == "close" { keepsAlive = false }
            case "transfer-encoding": isChunked = true
            case "retry-after": retryAfterSeconds = Int(value).flatMap { $0 >= 0 ? $0 : nil }
            default: break
            }
        }
        if isChunked { contentLength = nil }
        return true
    }

    /// Returns the value without the spaces and tabs around it.
    private static func trimmed(_ value: Substring) -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let rest = value.drop(while: isBlank)
        guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return "" }
        return rest[...last]
    }
}
