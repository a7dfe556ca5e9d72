@testable import JSON

/// Returns the reader's first problem with a text, or nil if it is accepted.
func refusal(of text: String, limits: JSONLimits = .record) -> JSONProblem? {
    refusal(of: Array(text.utf8), limits: limits)
}

/// Returns the reader's first problem with bytes, or nil if they are accepted.
func refusal(of bytes: [UInt8], limits: JSONLimits = .record) -> JSONProblem? {
    do {
        try JSONReader(limits: limits).read(bytes) { _ in }
        return nil
    } catch {
        return error.problems[0]
    }
}

/// Reads a text with the usual limits.
func read<T>(_ text: String, decode: (JSONValue) -> T) throws(JSONError) -> T {
    try JSONReader().read(Array(text.utf8), decode: decode)
}

/// Returns all problems of a text, each with its code in front.
func problems<T>(in text: String, decode: (JSONValue) -> T) -> [String] {
    do {
        _ = try read(text, decode: decode)
        return []
    } catch {
        return error.problems.map { "\($0.code.rawValue): \($0)" }
    }
}

extension JSONValue {
    /// The bytes of the value in its document.
    var rawText: String { String(decoding: raw, as: UTF8.self) }
}
