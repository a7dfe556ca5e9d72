import Foundation
import Simulation
import Testing

@testable import JSON

struct JSONFuzzTests {
    /// Writes a document of any shape.
    private func document(_ random: inout SeededGenerator, _ json: inout JSONWriter, depth: Int = 0) {
        switch Int.random(in: 0..<(depth < 5 ? 9 : 7), using: &random) {
        case 0: json.null()
        case 1: json.value(Bool.random(using: &random))
        case 2: json.value(Int.random(in: -1000...1000, using: &random))
        case 3: json.value(Int64(truncatingIfNeeded: random.next()))
        case 4: json.value(Double.random(in: -1e6...1e6, using: &random))
        case 5, 6: json.value(text(&random))
        case 7:
            json.beginArray()
            for _ in 0..<Int.random(in: 0...5, using: &random) { document(&random, &json, depth: depth + 1) }
            json.endArray()
        default:
            json.beginObject()
            for index in 0..<Int.random(in: 0...5, using: &random) {
                json.name("\(index)\(text(&random))")
                document(&random, &json, depth: depth + 1)
            }
            json.endObject()
        }
    }

    private func text(_ random: inout SeededGenerator) -> String {
        let alphabet = Array("ab\"\\\n\u{1}é€😀/ {}[]:,0")
        return String(
            (0..<Int.random(in: 0...20, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }

    private func same(_ value: JSONValue, _ other: Any) -> Bool {
        switch value.kind {
        case .null?: return other is NSNull
        case .boolean?: return other as? Bool == value.bool()
        case .integer?:
            let other = other as? NSNumber
            if value.rawText.hasPrefix("-") { return other?.int64Value == Int64(value.int()) }
            return other?.uint64Value == value.uint64()
        case .number?:
            // Foundation's result is sometimes off by the last bit.
            guard let other = (other as? NSNumber)?.doubleValue else { return false }
            return value.double() == Double(value.rawText)
                && abs(other - value.double()) <= abs(other) * 1e-15
        case .string?: return other as? String == value.string()
        case .array?:
            guard let other = other as? [Any], other.count == value.array(countMax: .max).count else {
                return false
            }
            return zip(value.array(countMax: .max), other).allSatisfy { same($0, $1) }
        case .object?:
            guard let other = other as? [String: Any], other.count == value.object().count else {
                return false
            }
            return value.object().members.allSatisfy { member in
                other[member.name].map { same(member.value, $0) } ?? false
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
            document(&random, &writer)
            let bytes = writer.bytes
            let other = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            #expect(
                try reader.read(bytes) { same($0, other) },
                "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    /// If the reader accepts a damaged document, Foundation must accept it with the same meaning. The reverse
    /// does not hold: Foundation accepts duplicate names (it keeps one), a byte order mark, UTF-16, UTF-32,
    /// and numbers beyond 64 bits (as decimals). The reader refuses them.
    @Test func `damaged documents are refused or have the same meaning as in Foundation`() throws {
        let reader = JSONReader(limits: JSONLimits(bytesMax: 1 << 16))
        var writer = JSONWriter()
        var accepted = 0
        let all = trialCount(base: 60_000)
        for seed in 0..<UInt64(all) {
            var random = SeededGenerator(seed: seed)
            writer.removeAll()
            document(&random, &writer)
            var bytes = writer.bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) { damage(&bytes, &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                try reader.read(bytes) { root in
                    accepted += 1
                    guard seed % 8 == 0 else { return }
                    let other = try? JSONSerialization.jsonObject(
                        with: Data(bytes), options: .fragmentsAllowed)
                    #expect(other.map { same(root, $0) } ?? false, "seed \(seed): \(text)")
                }
            } catch {
                #expect(!error.problems.isEmpty && error.description.utf8.count < 1000, "seed \(seed)")
            }
        }
        // Some damaged documents stay valid. If none or nearly all did, the test would prove nothing.
        #expect((all / 20...all / 6 * 5).contains(accepted), "\(accepted) of \(all)")
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let byte = Array("{}[]:,\"\\ \n019eE.-+tfnu/\u{0}é\u{C}".utf8).randomElement(using: &random)!
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.insert(byte, at: place)
        case 1 where place < bytes.count: bytes[place] = byte
        case 2 where place < bytes.count: bytes.remove(at: place)
        case 3 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 4: bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &random))
        default:
            let end = min(bytes.count, place + 8)
            bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
        }
    }
}
