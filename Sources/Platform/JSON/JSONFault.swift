internal import CSimdJSON

/// The fault for which the parser refused a document: its code, its place and the explanation for the sender.
/// The explanation is made only after a refusal, so it may be slow. But its time must stay linear in the
/// document, and it must not trap on any bytes.
struct JSONFault {
    let fault: json_fault
    /// The byte where the parser stopped. Some faults are found by simdjson, which tells no position.
    /// `problem` searches for these.
    let offset: Int
    let limits: JSONLimits

    /// Returns the problem with its path and its message.
    func problem(in bytes: UnsafeRawBufferPointer) -> JSONProblem {
        let path: String
        var position = offset
        switch fault {
        case JSON_EMPTY: path = ""
        case JSON_NOT_UTF8:
            position = unsafe Self.firstInvalidUTF8(in: bytes)
            path = unsafe JSONFaultScan.scan(bytes, upTo: position).path
        case JSON_CONTROL_CHARACTER, JSON_UNTERMINATED_STRING:
            let scan = unsafe JSONFaultScan.scan(bytes, upTo: bytes.count)
            position = scan.stopOffset
            path = scan.path
        default: path = unsafe JSONFaultScan.scan(bytes, upTo: offset).path
        }
        let (code, message) = unsafe explanation(at: position, in: bytes)
        return JSONProblem(path: path, code: code, message: message)
    }

    /// Returns the code for programs and the message, which follows the path.
    private func explanation(at position: Int, in bytes: UnsafeRawBufferPointer) -> (JSONProblem.Code, String)
    {
        if let encoding = unsafe Self.foreignEncoding(of: bytes) {
            return (.notUTF8, "is \(encoding); send UTF-8 without a byte order mark")
        }
        switch fault {
        case JSON_EMPTY: return (.empty, "is empty; send a JSON value")
        case JSON_NOT_UTF8: return (.notUTF8, "is not UTF-8 at byte \(position)")
        case JSON_CONTROL_CHARACTER:
            return (.malformed, "has an unescaped control character at byte \(position); escape it")
        case JSON_UNTERMINATED_STRING:
            return (.malformed, "has an unterminated string that starts at byte \(position)")
        case JSON_TRAILING_BYTES:
            return (.malformed, "has bytes after its end at byte \(position); send one JSON value")
        case JSON_BAD_ESCAPE: return (.malformed, "has an unknown escape at byte \(position)")
        case JSON_LONE_SURROGATE:
            return (
                .malformed,
                "has half a surrogate pair at byte \(position); escape both halves or send UTF-8"
            )
        case JSON_TOO_DEEP: return (.tooDeep, "is nested deeper than \(limits.depthMax) levels")
        case JSON_DUPLICATE_KEY: return (.duplicateKey, "occurs twice; send it once")
        case JSON_TOO_MANY_KEYS:
            return (.tooManyKeys, "exceeds the limit of \(limits.keysMax) names in a document")
        case JSON_NUMBER_OUT_OF_RANGE:
            return (.numberOutOfRange, "is a number beyond 64 bits; send it as a string")
        case JSON_NO_MEMORY: return (.outOfMemory, "does not fit into memory now; try again later")
        default: return (.malformed, "is not JSON at byte \(position)")
        }
    }

    /// Returns the name of another encoding that the first bytes show. Without it, the message would be about
    /// syntax.
    private static func foreignEncoding(of bytes: UnsafeRawBufferPointer) -> String? {
        if unsafe bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return "UTF-8 with a byte order mark" }
        if unsafe bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return "UTF-16" }
        if unsafe bytes.count >= 2 && (bytes[0] == 0) != (bytes[1] == 0) { return "UTF-16 or UTF-32" }
        return nil
    }

    private static func firstInvalidUTF8(in bytes: UnsafeRawBufferPointer) -> Int {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = unsafe bytes.makeIterator()
        var position = 0
        while case .valid(let scalar) = unsafe parser.parseScalar(from: &iterator) {
            position += scalar.count
        }
        return position
    }
}
