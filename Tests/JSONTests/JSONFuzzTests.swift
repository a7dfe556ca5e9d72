import Foundation
import Simulation
import Testing

@testable import JSON

/// Random documents, valid and damaged, read by this reader and by Foundation's.
struct JSONFuzzTests {
    /// Writes a value of any kind, with arrays and objects up to five levels deep.
    private func writeDocument(
        to json: inout JSONWriter, using random: inout SeededGenerator, depth: Int = 0
    ) {
        // Below the fifth level only scalars are written.
        switch Int.random(in: 0..<(depth < 5 ? 9 : 7), using: &random) {
        case 0: json.null()
        case 1: json.value(Bool.random(using: &random))
        case 2: json.value(Int.random(in: -1000...1000, using: &random))
        case 3: json.value(Int64(truncatingIfNeeded: random.next()))
        case 4: json.value(Double.random(in: -1e6...1e6, using: &random))
        case 5, 6: json.value(text(using: &random))
        case 7:
            json.beginArray()
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                writeDocument(to: &json, using: &random, depth: depth + 1)
            }
            json.endArray()
        default:
            json.beginObject()
            for index in 0..<Int.random(in: 0...5, using: &random) {
                json.name("\(index)\(text(using: &random))")
                writeDocument(to: &json, using: &random, depth: depth + 1)
            }
            json.endObject()
        }
    }

    /// Returns up to twenty characters, many of which need an escape.
    private func text(using random: inout SeededGenerator) -> String {
        let alphabet = Array("ab\"\\\n\u{1}é€😀/ {}[]:,0")
        return String(
            (0..<Int.random(in: 0...20, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }

    /// Whether a value is equal to a value that Foundation has read.
    private func isEqual(_ value: JSONValue, to expected: Any) -> Bool {
        switch value.kind {
        case .null?: return expected is NSNull
        case .boolean?: return expected as? Bool == value.bool()
        case .integer?:
            let number = expected as? NSNumber
            if value.rawText.hasPrefix("-") { return number?.int64Value == Int64(value.int()) }
            return number?.uint64Value == value.uint64()
        case .number?:
            // Foundation's result is sometimes off by the last bit.
            guard let number = (expected as? NSNumber)?.doubleValue else { return false }
            return value.double() == Double(value.rawText)
                && abs(number - value.double()) <= abs(number) * 1e-15
        case .string?: return expected as? String == value.string()
        case .array?:
            guard let elements = expected as? [Any], elements.count == value.array(countMax: .max).count
            else {
                return false
            }
            return zip(value.array(countMax: .max), elements).allSatisfy { isEqual($0, to: $1) }
        case .object?:
            guard let members = expected as? [String: Any], members.count == value.object().count else {
                return false
            }
            return value.object().members.allSatisfy { member in
                members[member.name].map { isEqual(member.value, to: $0) } ?? false
            }
        case nil: return false
        }
    }

    @Test func `random documents have the same meaning as in Foundation`() throws {
        let reader = JSONReader()
        var writer = JSONWriter()
        for seed in 0..<UInt64(trialCount(base: 2000)) {
            var random = SeededGenerator(seed: seed)
            writer.removeAll()
            writeDocument(to: &writer, using: &random)
            let bytes = writer.bytes
            let expected = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            #expect(
                try reader.read(bytes) { isEqual($0, to: expected) },
                "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    // If the reader accepts a damaged document, Foundation must accept it with the same meaning. The reverse does not
    // hold: Foundation accepts duplicate names (it keeps one), a byte order mark, UTF-16, UTF-32, and numbers beyond 64
    // bits (as decimals). The reader refuses them.
    @Test func `damaged documents are refused or have the same meaning as in Foundation`() throws {
        let reader = JSONReader(limits: JSONLimits(bytesMax: 1 << 16))
        var writer = JSONWriter()
        var acceptedCount = 0
        let documentCount = trialCount(base: 60_000)
        for seed in 0..<UInt64(documentCount) {
            var random = SeededGenerator(seed: seed)
            writer.removeAll()
            writeDocument(to: &writer, using: &random)
            var bytes = writer.bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) { damage(&bytes, using: &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                try reader.read(bytes) { root in
                    acceptedCount += 1
                    // Foundation is slow, so it reads only each eighth document.
                    guard seed % 8 == 0 else { return }
                    let expected = try? JSONSerialization.jsonObject(
                        with: Data(bytes), options: .fragmentsAllowed)
                    #expect(expected.map { isEqual(root, to: $0) } ?? false, "seed \(seed): \(text)")
                }
            } catch {
                #expect(!error.problems.isEmpty && error.description.utf8.count < 1000, "seed \(seed)")
            }
        }
        // Some damaged documents stay valid. If none or nearly all did, the test would prove nothing.
        #expect(
            (documentCount / 20...documentCount / 6 * 5).contains(acceptedCount),
            "\(acceptedCount) of \(documentCount)"
        )
    }

    /// Inserts, replaces, removes or repeats a few bytes.
    private func damage(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        let position = Int.random(in: 0...bytes.count, using: &random)
        let byte = Array("{}[]:,\"\\ \n019eE.-+tfnu/\u{0}é\u{C}".utf8).randomElement(using: &random)!
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.insert(byte, at: position)
        case 1 where position < bytes.count: bytes[position] = byte
        case 2 where position < bytes.count: bytes.remove(at: position)
        case 3 where position < bytes.count: bytes[position] = UInt8.random(in: 0...255, using: &random)
        case 4: bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &random))
        default:
            let end = min(bytes.count, position + 8)
            bytes.insert(contentsOf: Array(bytes[position..<end]), at: position)
        }
    }
}
