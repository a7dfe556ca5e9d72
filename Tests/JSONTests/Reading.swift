@testable import JSON

/// What a reader says about a text: nil when it accepts it.
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
    try JSONReader().read(Array(text.utf8), decode)
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

/// A small generator, so that a failing case can be named by its seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
