import FanOutTesting
import IngestTesting
import InstallationRecords
import KafkaTesting
import Payloads
import ProcessTesting
import Sends
import StageSupport
import Testing
import Topics

@testable import FanOut

/// The keys of `starts`, in the form in which their view stores them.
@Suite struct StoredKeyTests {
    @Test func `a stored key takes no more memory than its bytes, whatever buffer it was built in`() {
        var key: [UInt8] = []
        key.reserveCapacity(4096)
        LedgerKeyWriter(app: "shop", group: "match").writeLedgerKey(
            of: Array("u:one".utf8).span, on: Array("phone".utf8).span, generation: Array("7".utf8),
            into: &key)
        let storedKey = TransactionScopes.topicKey(for: key)
        #expect(storedKey.bytes == key)
        #expect(storedKey.bytes.capacity < 128)
    }

    /// In any other order, each part that is read back would change almost all pages of the file. That was a
    /// quarter of the cost of starts.
    @Test func `starts are written in the order of their view`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 1)
        let directory = try TemporaryDirectory()
        let expanderBed = try ExpanderTestBed(on: bed)
        let phones = 2000
        for number in 0..<phones { expanderBed.writeToken(of: "p\(number)", entry: .start(type: "Match")) }
        expanderBed.write(
            ExpanderTestBed.makeExpansion(
                of: .start, group: "match", send: "s", version: ExpanderTestBed.firstVersion,
                generation: ExpanderTestBed.firstVersion))
        #expect(expanderBed.finish())
        let stage = try await ExpanderStage(bed, directory: directory.path) { $0.pageRowsMax = 1000 }
        try await eventually("all expanded") { expanderBed.isEverythingClosed() || stage.failure != nil }
        #expect(stage.failure == nil)
        await stage.stop()
        let storedKeys = try TopicContent(of: .starts, in: bed).records.compactMap { record -> [UInt8]? in
            guard let key = record.key, LedgerKeyParts(key.span) != nil else { return nil }
            var storedKey: [UInt8] = []
            ScopesRowOrder.writeStoredKey(for: key.span, to: &storedKey)
            return storedKey
        }
        #expect(storedKeys.count == phones)
        // A walk begins at any position and goes round once. Recipients of one bucket are in any order.
        let stepsBack = zip(storedKeys, storedKeys.dropFirst()).count { $1.lexicographicallyPrecedes($0) }
        #expect(stepsBack < phones / 10)
    }
}
