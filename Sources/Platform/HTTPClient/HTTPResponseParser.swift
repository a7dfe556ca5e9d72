/// A parser of one HTTP/1.1 answer that arrives in pieces.
package struct HTTPResponseParser {
    package enum ParseResult: Equatable {
        case needsMore
        case complete(HTTPClientResponse, keepsAlive: Bool)
        case malformed
    }

    static let headBytesMax = 16 * 1024
    /// The largest body. A longer announced length is treated as malformed.
    static let bodyBytesMax = 4 << 20

    private var head: [UInt8] = []
    private var status: Int?
    private var keepsAlive = true
    /// The announced length of the body. Nil if there is no length.
    private var length: Int?
    private var body: [UInt8] = []

    package init() {}

    package mutating func parse(_ bytes: UnsafeRawBufferPointer) -> ParseResult {
        var rest = unsafe bytes[...]
        while status == nil {
            guard let byte = unsafe rest.popFirst() else { return .needsMore }
            head.append(byte)
            guard head.count <= Self.headBytesMax else { return .malformed }
            if byte == 0x0A, head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard parseHead() else { return .malformed }
            }
        }
        guard let status else { return .needsMore }
        guard let length else {
            return .complete(HTTPClientResponse(status: status, body: nil), keepsAlive: false)
        }
        // Bytes beyond the announced length belong to no answer.
        guard unsafe rest.count <= length - body.count else { return .malformed }
        unsafe body.append(contentsOf: rest)
        return body.count == length
            ? .complete(HTTPClientResponse(status: status, body: body), keepsAlive: keepsAlive) : .needsMore
    }

    /// Parses the head. Returns false if it is malformed. Interim answers (1xx) are skipped.
    private mutating func parseHead() -> Bool {
        guard let text = String(validating: head, as: UTF8.self) else { return false }
        head.removeAll(keepingCapacity: true)
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
            let number = Int(words[1]), (100...599).contains(number)
        else { return false }
        if number < 200 { return true }
        status = number
        length = number == 204 || number == 304 ? 0 : nil
        var isChunked = false
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return false }
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            switch parts[0].lowercased() {
            case "content-length":
                guard let bytes = Int(value), (0...Self.bodyBytesMax).contains(bytes) else { return false }
                length = bytes
            case "connection": if value.lowercased() == "close" { keepsAlive = false }
            case "transfer-encoding": isChunked = true
            default: break
            }
        }
        if isChunked { length = nil }
        if words[0] == "HTTP/1.0" { keepsAlive = false }
        return true
    }
}
