/// The format of a log line: one JSON object for machines, or text for people.
package enum LogFormat: String, Sendable, CaseIterable {
    /// `{"ts":"2026-11-27T08:30:00.000Z","level":"info","component":"gateway","message":"started","port":8080}`
    case json
    /// `2026-11-27T08:30:00.000Z info    gateway: started port=8080`
    case text

    /// The width of the level's column in text. The longest level has seven letters.
    private static let levelWidth = 8

    /// Returns the line with its newline. Secrets are removed from values, and control characters are
    /// escaped, so that no value can forge a second line.
    package func line(
        time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField]
    ) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        switch self {
        case .json:
            Self.writeJSON(
                time: time, level: level, component: component, message: message, fields: fields, to: &out)
        case .text:
            Self.writeText(
                time: time, level: level, component: component, message: message, fields: fields, to: &out)
        }
        out.append(UInt8(ascii: "\n"))
        return out
    }

    private static func writeJSON(
        time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField],
        to out: inout [UInt8]
    ) {
        out += Array(#"{"ts":""#.utf8)
        time.appendRFC3339(to: &out)
        out += Array(#"","level":""#.utf8)
        out += Array(level.rawValue.utf8)
        out += Array(#"","component":"#.utf8)
        appendQuoted(component, to: &out)
        out += Array(#","message":"#.utf8)
        appendQuoted(message.description, to: &out)
        for field in fields {
            out.append(UInt8(ascii: ","))
            appendQuoted(field.name.description, to: &out)
            out.append(UInt8(ascii: ":"))
            switch field.value {
            case .string(let value): appendQuoted(Redaction.scrub(value), to: &out)
            case .integer(let value): out += Array(String(value).utf8)
            // JSON has no infinity and no NaN.
            case .number(let value): out += Array((value.isFinite ? "\(value)" : "null").utf8)
            case .boolean(let value): out += Array((value ? "true" : "false").utf8)
            }
        }
        out.append(UInt8(ascii: "}"))
    }

    private static func writeText(
        time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField],
        to out: inout [UInt8]
    ) {
        time.appendRFC3339(to: &out)
        out.append(UInt8(ascii: " "))
        out += Array(level.rawValue.utf8)
        for _ in level.rawValue.utf8.count..<levelWidth { out.append(UInt8(ascii: " ")) }
        out += Array(component.utf8)
        out += Array(": ".utf8)
        out += Array(message.description.utf8)
        for field in fields {
            out.append(UInt8(ascii: " "))
            out += Array(field.name.description.utf8)
            out.append(UInt8(ascii: "="))
            switch field.value {
            case .string(let value):
                let scrubbed = Redaction.scrub(value)
                if isPlainWord(scrubbed) {
                    out += Array(scrubbed.utf8)
                } else {
                    appendQuoted(scrubbed, to: &out)
                }
            case .integer(let value): out += Array(String(value).utf8)
            case .number(let value): out += Array("\(value)".utf8)
            case .boolean(let value): out += Array((value ? "true" : "false").utf8)
            }
        }
    }
}

private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")
private let deleteCharacter: UInt8 = 0x7F

/// Returns whether a text can stand without quotes: not empty, no space, no control character, no quote.
private func isPlainWord(_ text: String) -> Bool {
    !text.isEmpty
        && text.utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != quote && $0 != deleteCharacter }
}

/// Appends a JSON string.
private func appendQuoted(_ text: String, to out: inout [UInt8]) {
    out.append(quote)
    for byte in text.utf8 {
        switch byte {
        case quote, backslash:
            out.append(backslash)
            out.append(byte)
        case UInt8(ascii: "\n"): out += [backslash, UInt8(ascii: "n")]
        case 0x00..<0x20, deleteCharacter:
            out += Array("\\u00".utf8)
            out.append(hexDigit(for: byte >> 4))
            out.append(hexDigit(for: byte & 0x0F))
        default: out.append(byte)
        }
    }
    out.append(quote)
}

private func hexDigit(for value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
