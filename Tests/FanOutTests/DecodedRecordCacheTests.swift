import Kafka
import RecordFormat
import Sends
import StageSupport
import Testing

@testable import FanOut

/// Proves that the lanes share a decoded record only if its bytes are equal.
struct DecodedRecordCacheTests {
    private struct Broken: Error {}

    /// Returns a stop whose send id is the text of the record.
    private func stop(_ record: Span<UInt8>) -> ExpansionRequest {
        var text: [UInt8] = []
        for index in record.indices { text.append(record[index]) }
        return .stop(
            StopInstruction(
                send: String(decoding: text, as: UTF8.self), key: ScopeKey(app: "shop", group: "m")))
    }

    @Test func `equal bytes are decoded once, and other bytes give another request`() {
        let requests = DecodedRecordCache<ExpansionRequest>()
        var decoded = 0
        for text in ["a", "b", "a", "b", "a"] {
            let record = Array(text.utf8)
            let request = requests.value(of: record.span) { record in
                decoded += 1
                return stop(record)
            }
            #expect(request == stop(record.span))
        }
        #expect(decoded == 2)
    }

    @Test func `records with equal hashes are kept apart`() throws {
        // Two of the first numbers have equal hashes.
        var numbers: [UInt32: Int] = [:]
        var pair: (Int, Int)?
        for number in 0..<1_000_000 where pair == nil {
            let hash = Murmur2.hash(of: Array(String(number).utf8).span)
            if let other = numbers.updateValue(number, forKey: hash) { pair = (other, number) }
        }
        let (first, second) = try #require(pair)
        let requests = DecodedRecordCache<ExpansionRequest>()
        for number in [first, second, first] {
            let record = Array(String(number).utf8)
            #expect(requests.value(of: record.span, decode: stop) == stop(record.span))
        }
    }

    @Test func `a record that cannot be decoded is tried again`() {
        let requests = DecodedRecordCache<ExpansionRequest>()
        for _ in 0..<2 {
            #expect(throws: Broken.self) {
                try requests.value(of: [1, 2].span) { _ throws(Broken) in throw Broken() }
            }
        }
    }
}

/// Proves that the cache returns the same bytes as encoding the scope.
struct EncodedScopeCacheTests {
    @Test func `a scope of several lanes is encoded once, and a different scope is encoded again`() {
        var encoded = EncodedScopeCache()
        let key = HashedKey(Array("shop/m".utf8))
        var scope = LaneScope()
        for version: Int64 in [7, 7, 8, 7] {
            scope.version = version
            #expect(encoded.record(of: scope, under: key) == scope.encoded())
        }
        #expect(encoded.record(of: LaneScope(), under: HashedKey([1])) == LaneScope().encoded())
    }
}
