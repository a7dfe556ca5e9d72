import Identifiers
import Simulation
import Testing

@testable import APNs

/// Compares `PushPathBuffer`, which writes eight digits at a time, with code that writes one digit at a time.
@Suite struct PushPathBufferTests {
    private func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `every token is in its path as hexadecimal digits, whatever the previous content`() {
        var random = SeededGenerator(seed: 1)
        let buffer = PushPathBuffer()
        for _ in 0..<trialCount(base: 2_000) {
            let token = (0..<random.number(below: 257)).map { _ in UInt8.random(in: 0...255, using: &random) }
            let written = token.withUnsafeBufferPointer {
                buffer.write(.device, token: $0, id: PushID(high: 1, low: 2))
            }
            #expect(text(written.path) == "/3/device/" + text(Hex.encode(token)))
            #expect(text(written.id) == "00000000-0000-0001-0000-000000000002")
        }
    }

    @Test func `a fixed path is not changed`() {
        let buffer = PushPathBuffer()
        let fixed = "/4/broadcasts/apps/" + String(repeating: "x", count: 300)
        let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        let written = buffer.write(.fixed(path: Array(fixed.utf8)), token: none, id: PushID(high: 0, low: 0))
        #expect(text(written.path) == fixed)
    }

    @Test func `an id is a UUID in lower case`() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<1_000 {
            let (high, low) = (random.next(), random.next())
            let digits = [high, low].map { word in
                let digits = String(word, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
            var expected = ""
            for (index, digit) in digits.enumerated() {
                if [8, 12, 16, 20].contains(index) { expected.append("-") }
                expected.append(digit)
            }
            #expect(PushID(high: high, low: low).description == expected)
        }
    }
}
