/// The format of a log line: one JSON object for machines, or columns for people.
package enum LogFormat: String, Sendable, CaseIterable {
    case json
    case text

    /// Returns the line with its newline. External values are scrubbed, and control characters are escaped,
    /// so that no value can forge a second line.
    package func line(
        time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField]
    ) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        switch self {
        case .json:
            writeJSON(
                at: time, level: level, component: component, message: message, fields: fields, to: &out)
        case .text:
            writeText(
                at: time, level: level, component: component, message: message, fields: fields, to: &out)
        }
        out.append(0x0A)
        return out
    }
}

private func writeJSON(
    at time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField],
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
        out.append(0x2C)
        appendQuoted(field.name.description, to: &out)
        out.append(0x3A)
        switch field.value {
        case .string(let value): appendQuoted(Redaction.scrub(value), to: &out)
        case .integer(let value): out += Array(String(value).utf8)
        case .number(let value): out += Array((value.isFinite ? "\(value)" : "null").utf8)
        case .boolean(let value): out += Array((value ? "true" : "false").utf8)
        }
    }
    out.append(0x7D)
}

private func writeText(
    at time: WallTime, level: LogLevel, component: String, message: StaticString, fields: [LogField],
    to out: inout [UInt8]
) {
    time.appendRFC3339(to: &out)
    out.append(0x20)
    out += Array(level.rawValue.utf8)
    for _ in level.rawValue.utf8.count..<8 { out.append(0x20) }
    out += Array(component.utf8)
    out += Array(": ".utf8)
    out += Array(message.description.utf8)
    for field in fields {
        out.append(0x20)
        out += Array(field.name.description.utf8)
        out.append(0x3D)
        switch field.value {
        case .string(let value):
            let scrubbed = Redaction.scrub(value)
            if scrubbed.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }), !scrubbed.isEmpty {
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

private func appendQuoted(_ text: String, to out: inout [UInt8]) {
    out.append(0x22)
    for byte in text.utf8 {
        switch byte {
        case 0x22, 0x5C:
            out.append(0x5C)
            out.append(byte)
        case 0x0A: out += [0x5C, 0x6E]
        case 0x00..<0x20, 0x7F:
            out += Array("\\u00".utf8)
            out.append(hexDigit(for: byte >> 4))
            out.append(hexDigit(for: byte & 15))
        default: out.append(byte)
        }
    }
    out.append(0x22)
}

private func hexDigit(for value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
