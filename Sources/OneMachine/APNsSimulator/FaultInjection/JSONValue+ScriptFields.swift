internal import HTTP2
internal import JSON

/// Readers for fields of fault scripts and of the control API. Each reports a problem with the value and then
/// returns a placeholder: the lowest valid number, `NO_ERROR`, or an empty set.
extension JSONValue {
    /// Reads a duration, limited to the longest delay of an answer.
    func milliseconds() -> Int { int(in: 0...DelayDistribution.millisecondsMax) }

    func positiveCount() -> Int { int(in: 1...Int(Int32.max)) }

    /// Reads an HTTP/2 error code: its name in RFC 9113, such as `REFUSED_STREAM`, or its number.
    func errorCode() -> HTTP2ErrorCode {
        if kind == .integer { return HTTP2ErrorCode(rawValue: UInt32(int(in: 0...Int(UInt32.max)))) }
        let text = string()
        if let code = HTTP2ErrorCode.named(text) { return code }
        if kind == .string {
            report("must be the name of an HTTP/2 error code, such as REFUSED_STREAM, or its number")
        }
        return .noError
    }

    /// Reads a list of raw values of an enum.
    func choices<Choice: RawRepresentable & CaseIterable & Hashable>(
        of type: Choice.Type
    ) -> Set<Choice> where Choice.RawValue == String {
        var choices: Set<Choice> = []
        var elements = array(countMax: Choice.allCases.count)
        while let element = elements.next() {
            if let choice = element.choice(of: type) { choices.insert(choice) }
        }
        return choices
    }
}

extension HTTP2ErrorCode {
    /// The codes that RFC 9113 names, `NO_ERROR` to `HTTP_1_1_REQUIRED`.
    private static let namedCodes = (UInt32(0)...0xD).map(HTTP2ErrorCode.init(rawValue:))

    static func named(_ text: String) -> HTTP2ErrorCode? { namedCodes.first { $0.description == text } }
}
