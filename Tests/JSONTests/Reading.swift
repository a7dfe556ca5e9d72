@testable import JSON

/// Returns the reader's first problem with a text, or nil if it is accepted.
func refusal(_ text: String, limits: JSONLimits = .record) -> JSONProblem? {
    refusal(Array(text.utf8), limits: limits)
}

func refusal(_ bytes: [UInt8], limits: JSONLimits = .record) -> JSONProblem? {
    do {
        try JSONReader(limits: limits).read(bytes) { _ in }
        return nil
    } catch {
        return error.problems[0]
    }
}

func read<T>(_ text: String, _ decode: (JSONValue) -> T) throws(JSONError) -> T {
    try JSONReader().read(Array(text.utf8), decode: decode)
}

func problems<T>(_ text: String, _ decode: (JSONValue) -> T) -> [String] {
    do {
        _ = try read(text, decode)
        return []
    } catch {
        return error.problems.map { "\($0.code.rawValue): \($0)" }
    }
}

extension JSONValue {
    var rawText: String { String(decoding: raw, as: UTF8.self) }
}
