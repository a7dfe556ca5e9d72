import Testing

@testable import Broker

/// Requests and stored records cut short or with bytes changed: each is read, or refused; none traps.
struct HostileInputTests {
    @Test func `no damaged request traps the decoder, or the coordinator that gets it`() {
        var random = Dice(seed: 0xC0FFEE)
        let groups = GroupDriver()
        let transactions = TransactionDriver()
        _ = groups.stableGroup(2)
        var understood = 0
        for (name, vector) in WireVectors.all.sorted(by: { $0.key < $1.key }) {
            guard let api = api(of: name), let version = Int16(name.split(separator: " ")[1]) else {
                continue
            }
            for round in 0..<400 {
                let bytes = round < vector.count ? Array(vector.prefix(round)) : random.damaged(vector)
                guard let request = request(api, version, bytes) else { continue }
                understood += 1
                switch request {
                case .group(let request): _ = groups.ask(request)
                case .transaction(let request): _ = transactions.ask(request)
                case .other: break
                }
            }
        }
        #expect(understood > 1_000)
    }

    @Test func `no damaged record traps a restart`() {
        var random = Dice(seed: 0xBADC_AB1E)
        let groups = GroupDriver()
        _ = groups.stableGroup(2, instances: ["a"])
        _ = groups.ask(Ask.transactionalCommit(offset: 1))
        _ = groups.ask(Ask.commit("simple", offset: 1, metadata: "meta"))
        let transactions = TransactionDriver()
        if let producer = transactions.producer() {
            _ = transactions.ask(producer.add())
            _ = transactions.ask(producer.addOffsets())
        }
        var applied = 0
        for round in 0..<8_000 {
            let isGroup = round % 2 == 0
            let log = isGroup ? groups.log : transactions.log
            let record = log[random.below(log.count)]
            let damaged = CoordinatorRecord(
                key: random.below(3) == 0 ? random.damaged(record.key) : record.key,
                value: record.value.map { random.damaged($0) })
            let outcome =
                isGroup ? groups.coordinator.restore(damaged) : transactions.coordinator.restore(damaged)
            if outcome == .applied { applied += 1 }
            guard round % 400 == 399 else { continue }
            // Starts the restored state, lets it run for a moment, and discards it.
            groups.coordinator.finishRestoring(at: groups.now)
            _ = transactions.coordinator.finishRestoring(at: transactions.now)
            groups.pass(milliseconds: 50)
            transactions.pass(milliseconds: 50)
            groups.restart(keeping: 0)
            transactions.restart(keeping: 0)
        }
        #expect(applied > 1_000)
    }

    private enum Decoded {
        case group(GroupRequest)
        case transaction(TransactionRequest)
        case other
    }

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
        return names[String(word.dropLast(7))]
    }

    private func request(_ api: APIKey, _ version: Int16, _ bytes: [UInt8]) -> Decoded? {
        try? WireReader.read(bytes, flexible: api.versions.isFlexible(version)) { (r) throws(WireError) in
            switch api {
            case .joinGroup: .group(.join(try .init(from: &r, version: version)))
            case .syncGroup: .group(.sync(try .init(from: &r, version: version)))
            case .heartbeat: .group(.heartbeat(try .init(from: &r, version: version)))
            case .leaveGroup: .group(.leave(try .init(from: &r, version: version)))
            case .offsetCommit: .group(.commit(try .init(from: &r, version: version)))
            case .offsetFetch: .group(.fetch(try .init(from: &r, version: version)))
            case .offsetDelete: .group(.deleteOffsets(try .init(from: &r, version: version)))
            case .listGroups: .group(.list(try .init(from: &r, version: version)))
            case .describeGroups: .group(.describe(try .init(from: &r, version: version)))
            case .deleteGroups: .group(.delete(try .init(from: &r, version: version)))
            case .txnOffsetCommit: .group(.transactionalCommit(try .init(from: &r, version: version)))
            case .initProducerID: .transaction(.initProducerID(try .init(from: &r, version: version)))
            case .addPartitionsToTxn: .transaction(.addPartitions(try .init(from: &r, version: version)))
            case .addOffsetsToTxn: .transaction(.addOffsets(try .init(from: &r, version: version)))
            case .endTxn: .transaction(.end(try .init(from: &r, version: version)))
            default: try Self.skip(&r, version)
            }
        }
    }

    private static func skip(_ reader: inout WireReader, _ version: Int16) throws(WireError) -> Decoded {
        _ = try FindCoordinatorRequest(from: &reader, version: version)
        return .other
    }
}
