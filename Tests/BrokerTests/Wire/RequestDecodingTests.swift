import Foundation
import Simulation
import Testing

@testable import Broker

/// The decoding of requests: valid requests of all versions (`RequestSamples`), all their beginnings, and random damage
/// (`RequestMutator`).
struct RequestDecodingTests {
    /// Decodes a request, and returns the number of bytes behind it. An API or version that the broker does not offer
    /// is not decoded.
    @discardableResult
    private func decode(_ bytes: [UInt8]) throws(WireError) -> Int {
        try WireReader.read(bytes) { (reader) throws(WireError) in
            let header = try RequestHeader(from: &reader)
            guard let api = header.api, api.versions.contains(header.version) else { return 0 }
            _ = try Request(api: api, version: header.version, from: &reader)
            return reader.remaining
        }
    }

    @Test func `every request of every version in the table is understood to its last byte`() throws {
        for sample in RequestSamples.all {
            #expect(try decode(sample.bytes) == 0, "\(sample.api) version \(sample.version)")
        }
    }

    @Test func `a request that ends early is refused wherever it ends`() {
        for sample in RequestSamples.all {
            for length in 0..<sample.bytes.count {
                #expect(throws: WireError.self, "\(sample.api) version \(sample.version) to \(length)") {
                    try decode(Array(sample.bytes.prefix(length)))
                }
            }
        }
    }

    /// `TEST_SEED` sets which requests are tried.
    @Test func `mutated requests are decoded or refused, in bounded time and memory`() throws {
        let environment = ProcessInfo.processInfo.environment
        let caseCount = trialCount(base: 20_000)
        let seed = environment["TEST_SEED"].flatMap(UInt64.init) ?? 20_261_120
        var mutator = RequestMutator(seed: seed)
        let samples = RequestSamples.all
        let residentBefore = residentBytes()
        let startedAt = Date()
        var refusedCount = 0
        for number in 0..<caseCount {
            let request = mutator.mutate(samples[number % samples.count].bytes, with: samples)
            do throws(WireError) {
                try decode(request)
            } catch {
                refusedCount += 1
            }
        }
        let seconds = Date().timeIntervalSince(startedAt)
        #expect(
            refusedCount > caseCount / 10 && refusedCount < caseCount,
            "seed \(seed): too few or all of the mutated requests were refused")
        // A millisecond for each request, which takes some microseconds.
        #expect(seconds < 10 + Double(caseCount) * 0.001, "seed \(seed)")
        #expect(residentBytes() - residentBefore < 256 << 20, "seed \(seed)")
    }

    /// The largest cost of a small request: a length that announces fifty million empty elements.
    @Test func `an array of fifty million empty elements is refused before memory is reserved`() {
        var writer = WireWriter(capacity: 1 << 20, encoding: .classic)
        let elementCount: Int32 = 50_000_000
        writer.int32(elementCount)
        let bytes = writer.copied() + [UInt8](repeating: 0, count: Int(elementCount))
        #expect(throws: WireError.tooManyElements(50_000_000)) {
            try WireReader.read(bytes) { (reader) throws(WireError) in
                try MetadataRequest(from: &reader, version: 0)
            }
        }
    }

    /// The memory of the process, in bytes.
    private func residentBytes() -> Int {
        // The second field of `statm` is the number of resident pages.
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        let pageBytes = 4096
        return (fields.flatMap { Int($0[1]) } ?? 0) * pageBytes
    }
}
