/// As much of an HTTP/1.1 answer as a poster needs: its status, and where it ends. Only a length that
/// is announced lets the connection be used again.
struct PostAnswer {
    enum Step: Equatable {
        case more
        case complete(status: Int, isKept: Bool)
        case malformed
    }

    static let headBytesMax = 16 * 1024

    private var head: [UInt8] = []
    private var status: Int?
    private var isKept = true
    private var bodyLeft = 0

    mutating func read(_ bytes: UnsafeRawBufferPointer) -> Step {
        var rest = unsafe bytes[...]
        while status == nil {
            guard let byte = unsafe rest.popFirst() else { return .more }
            head.append(byte)
            guard head.count <= Self.headBytesMax else { return .malformed }
            if byte == 0x0A, head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard parse() else { return .malformed }
            }
        }
        guard let status else { return .more }
        // A body without a length ends with the connection; its status is all that is wanted.
        guard isKept else { return .complete(status: status, isKept: false) }
        // More than was announced belongs to nothing.
        guard unsafe rest.count <= bodyLeft else { return .malformed }
        unsafe bodyLeft -= rest.count
        return bodyLeft == 0 ? .complete(status: status, isKept: true) : .more
    }

    /// False when this is no head. An interim answer (1xx) is passed over.
    private mutating func parse() -> Bool {
        guard let text = String(validating: head, as: UTF8.self) else { return false }
        head.removeAll(keepingCapacity: true)
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
            let number = Int(words[1]), (100...599).contains(number)
        else { return false }
        if number < 200 { return true }
        status = number
        var length = number == 204 || number == 304 ? 0 : nil as Int?
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return false }
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            switch parts[0].lowercased() {
            case "content-length":
                guard let announced = Int(value), announced >= 0 else { return false }
                length = announced
            case "connection": if value.lowercased() == "close" { isKept = false }
            case "transfer-encoding": isKept = false
            default: break
            }
        }
        if let length { bodyLeft = length } else { isKept = false }
        if words[0] == "HTTP/1.0" { isKept = false }
        return true
    }
}
