import Testing

@testable import Broker

/// Truncated and changed requests and records. Each is read or refused, and none ends the process.
struct HostileInputTests {
    @Test func `no damaged request traps the decoder, or the coordinator that gets it`() {
        var random = Dice(seed: 0xC0FFEE)
        let groups = GroupDriver()
        let transactions = TransactionDriver()
        _ = groups.stableGroup(memberCount: 2)
        var decodedCount = 0
        for (name, vector) in WireVectors.all.sorted(by: { $0.key < $1.key }) {
            // A vector has the name "JoinGroupRequest 5". Responses have no API key here, and are skipped.
            guard let api = api(of: name), let version = Int16(name.split(separator: " ")[1]) else {
                continue
            }
            // First every truncation, then random damage.
            for round in 0..<400 {
                let isTruncation = round < vector.count
                let bytes = isTruncation ? Array(vector.prefix(round)) : random.damagedCopy(of: vector)
                guard let request = decode(bytes, as: api, version: version) else { continue }
                decodedCount += 1
                switch request {
                case .group(let request): _ = groups.ask(request)
                case .transaction(let request): _ = transactions.ask(request)
                case .other: break
                }
            }
        }
        #expect(decodedCount > 1_000)
    }

    @Test func `no damaged record traps a restart`() {
        var random = Dice(seed: 0xBADC_AB1E)
        let groups = GroupDriver()
        _ = groups.stableGroup(memberCount: 2, instances: ["a"])
        _ = groups.ask(Requests.transactionalCommit(offset: 1))
        _ = groups.ask(Requests.commit("simple", offset: 1, metadata: "meta"))
        let transactions = TransactionDriver()
        if let producer = transactions.producer() {
            _ = transactions.ask(producer.add())
            _ = transactions.ask(producer.addOffsets())
        }
        var appliedCount = 0
        for round in 0..<8_000 {
            let isGroup = round % 2 == 0
            let log = isGroup ? groups.log : transactions.log
            let record = log[random.below(log.count)]
            let damaged = CoordinatorRecord(
                key: random.below(3) == 0 ? random.damagedCopy(of: record.key) : record.key,
                value: record.value.map { random.damagedCopy(of: $0) })
            let outcome =
                isGroup ? groups.coordinator.restore(damaged) : transactions.coordinator.restore(damaged)
            if outcome == .applied { appliedCount += 1 }
            guard round % 400 == 399 else { continue }
            // Every 400 records, the restored state runs for a moment and is discarded.
            groups.coordinator.finishRestoring(at: groups.now)
            _ = transactions.coordinator.finishRestoring(at: transactions.now)
            groups.pass(milliseconds: 50)
            transactions.pass(milliseconds: 50)
            groups.restart()
            transactions.restart()
        }
        #expect(appliedCount > 1_000)
    }

    /// A decoded request, by the coordinator that handles it.
    private enum Decoded {
        case group(GroupRequest)
        case transaction(TransactionRequest)
        case other
    }

    /// Returns the API key of a request's vector, nil for a response.
    private func api(of name: String) -> APIKey? {
        let names: [String: APIKey] = [
            "FindCoordinator": .findCoordinator, "JoinGroup": .joinGroup, "SyncGroup": .syncGroup,
            "Heartbeat": .heartbeat, "LeaveGroup": .leaveGroup, "OffsetCommit": .offsetCommit,
            "OffsetFetch": .offsetFetch, "OffsetDelete": .offsetDelete, "ListGroups": .listGroups,
            "DescribeGroups": .describeGroups, "DeleteGroups": .deleteGroups,
            "InitProducerId": .initProducerID, "AddPartitionsToTxn": .addPartitionsToTxn,
            "AddOffsetsToTxn": .addOffsetsToTxn, "EndTxn": .endTxn, "TxnOffsetCommit": .txnOffsetCommit,
        ]
        guard let word = name.split(separator: " ").first, word.hasSuffix("Request") else { return nil }
        return names[String(word.dropLast("Request".count))]
    }

    /// Decodes a request; nil if the decoder refuses it.
    private func decode(_ bytes: [UInt8], as api: APIKey, version: Int16) -> Decoded? {
        try? WireReader.read(bytes, encoding: api.versions.encoding(of: version)) {
            (reader) throws(WireError) in
            switch api {
            case .joinGroup: .group(.join(try .init(from: &reader, version: version)))
            case .syncGroup: .group(.sync(try .init(from: &reader, version: version)))
            case .heartbeat: .group(.heartbeat(try .init(from: &reader, version: version)))
            case .leaveGroup: .group(.leave(try .init(from: &reader, version: version)))
            case .offsetCommit: .group(.commit(try .init(from: &reader, version: version)))
            case .offsetFetch: .group(.fetch(try .init(from: &reader, version: version)))
            case .offsetDelete: .group(.deleteOffsets(try .init(from: &reader, version: version)))
            case .listGroups: .group(.list(try .init(from: &reader, version: version)))
            case .describeGroups: .group(.describe(try .init(from: &reader, version: version)))
            case .deleteGroups: .group(.delete(try .init(from: &reader, version: version)))
            case .txnOffsetCommit: .group(.transactionalCommit(try .init(from: &reader, version: version)))
            case .initProducerID: .transaction(.initProducerID(try .init(from: &reader, version: version)))
            case .addPartitionsToTxn: .transaction(.addPartitions(try .init(from: &reader, version: version)))
            case .addOffsetsToTxn: .transaction(.addOffsets(try .init(from: &reader, version: version)))
            case .endTxn: .transaction(.end(try .init(from: &reader, version: version)))
            default: try Self.readFindCoordinator(&reader, version: version)
            }
        }
    }

    private static func readFindCoordinator(
        _ reader: inout WireReader, version: Int16
    ) throws(WireError) -> Decoded {
        _ = try FindCoordinatorRequest(from: &reader, version: version)
        return .other
    }
}
