import Sends
import Testing

/// The comparison of a request with the earlier one of the same key. A fingerprint, `f` or `g`, stands for a body.
struct IdempotencyTests {
    private let first = SendIdempotencyRow(fingerprint: "f", writtenAt: 9)
    private let day = Idempotency.retentionMilliseconds

    @Test func `a request without an earlier one is new`() {
        #expect(outcome("f", with: nil, at: 9) == "new")
    }

    @Test func `a repetition within a day repeats the first request`() {
        #expect(outcome("f", with: first, at: 9) == "repeats 9")
        #expect(outcome("f", with: first, at: 9 + day - 1) == "repeats 9")
    }

    @Test func `another body under the same key is a conflict`() {
        #expect(outcome("g", with: first, at: 10) == "conflicts")
    }

    @Test func `after a day the key is free`() {
        #expect(outcome("f", with: first, at: 9 + day) == "new")
        #expect(outcome("g", with: first, at: 9 + day) == "new")
    }

    /// Returns the result as a word, with the time of the first request if it is repeated.
    private func outcome(_ fingerprint: String, with known: SendIdempotencyRow?, at stamp: Int64) -> String {
        switch Idempotency.compare(fingerprint: fingerprint, with: known, at: stamp) {
        case .isNew: "new"
        case .repeats(let row): "repeats \(row.writtenAt)"
        case .conflicts: "conflicts"
        }
    }
}
