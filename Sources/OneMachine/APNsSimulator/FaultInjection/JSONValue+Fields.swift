internal import HTTP2
internal import JSON

// Readers for the kinds of fields that scripts and the control API share. Each reader reports a problem and
// returns a placeholder.

extension JSONValue {
    /// Reads a duration, limited to the longest delay of an answer.
    func milliseconds() -> Int { int(in: 0...DelayDistribution.millisecondsMax) }

    func positiveCount() -> Int { int(in: 1...Int(Int32.max)) }

    /// Reads an error code: its name in RFC 9113, or its number.
    func errorCode() -> HTTP2ErrorCode {
        if kind == .integer { return HTTP2ErrorCode(rawValue: UInt32(int(in: 0...Int(UInt32.max)))) }
        let text = string()
        if let code = HTTP2ErrorCode.named(text) { return code }
        if kind == .string {
            report("must be the name of an HTTP/2 error code, such as REFUSED_STREAM, or its number")
        }
        return .noError
    }

    func choices<Choice: RawRepresentable & CaseIterable & Hashable>(
        of type: Choice.Type
    ) -> Set<Choice> where Choice.RawValue == String {
        var set: Set<Choice> = []
        var elements = array(countMax: Choice.allCases.count)
        while let element = elements.next() {
            if let choice = element.choice(of: type) { set.insert(choice) }
        }
        return set
    }
}

extension HTTP2ErrorCode {
    private static let known = (UInt32(0)...0xD).map(HTTP2ErrorCode.init(rawValue:))

    static func named(_ text: String) -> HTTP2ErrorCode? { known.first { $0.description == text } }
}
