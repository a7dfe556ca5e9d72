import Foundation
import Identifiers
import InstallationRecords
import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of the file of a lane that was left behind, lost, truncated or made by another program, and of unreadable
/// records. The lane discards a file that it cannot trust, and is restored from the topic.
struct LaneFileTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }
    private let selection = TokenSelection(
        app: "one", tokens: .updates(group: "g"), environments: [.production], now: start)
    private let key = RegistryKey(
        app: "one", recipient: .user("ada"), installation: "i", entry: .update(activity: "x"))

    private func fill(_ lane: Lane) throws {
        try lane.apply(token(1, group: "g").encoded(), to: key, offset: 0)
        try lane.commit(1)
    }

    @Test func `a killed process keeps its commits and reads the rest again`() async throws {
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let lane = try openLane(path)
            for number in 0..<1000 {
                let key = RegistryKey(
                    app: "one", recipient: .user("u\(number)"), installation: "i",
                    entry: .update(activity: "x"))
                try lane.apply(token(number, group: "g").encoded(), to: key, offset: Int64(number))
                if number % 10 == 9 { try lane.commit(Int64(number + 1)) }
                if number == 777 { kill(getpid(), SIGKILL) }
            }
        }
        let lane = try openLane(path)
        #expect(lane.openingState == .resumed)
        #expect(lane.appliedOffset == 770)
        #expect(try lane.all(selection).count == 770)
        try lane.close()
    }

    @Test func `an interrupted restore starts again, and none of it is served`() async throws {
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let lane = try openLane(path)
            // The state after the first transaction of the restore.
            let table = lane.tables.updates
            try lane.file.write { transaction throws(StoreError) in
                try transaction.put([1, 1, 0].span, value: [0].span, in: table)
            }
            kill(getpid(), SIGKILL)
        }
        let lane = try openLane(path)
        #expect(lane.appliedOffset == nil)
        #expect(try lane.rowCounts() == LaneRowCounts())
        let restore = LaneRestore(lane: lane)
        try restore.add(key: key.bytes.span, value: token(1, group: "g").encoded().span, offset: 0)
        try restore.finish(AppliedProgress(offset: 1, completeUntil: .now()))
        #expect(try lane.all(selection).count == 1)
        try lane.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: path + "/lane").sorted()
                == ["data.mdb", "data.mdb-lock", "lock", "mark"],
            "the restore left a file of sorted rows behind")
    }

    @Test
    func `a file that is truncated, lost, foreign or from before a reboot is discarded with its reason`()
        throws
    {
        func openingState(after damage: (String) throws -> Void) throws -> OpeningState {
            let directory = try TemporaryDirectory()
            try fill(try openLane(directory.path))
            try damage(directory.path + "/lane")
            let lane = try openLane(directory.path)
            #expect(lane.appliedOffset == nil)
            #expect(try lane.rowCounts() == LaneRowCounts())
            defer { try? lane.close() }
            return lane.openingState
        }
        let withoutData = try openingState { try FileManager.default.removeItem(atPath: $0 + "/data.mdb") }
        #expect(withoutData == .discarded(.missingData))
        let withoutMark = try openingState { try FileManager.default.removeItem(atPath: $0 + "/mark") }
        #expect(withoutMark == .discarded(.unmarked))
        let truncated = try openingState { truncate($0 + "/data.mdb", 5000) }
        guard case .discarded(.damaged) = truncated else {
            Issue.record("\(truncated)")
            return
        }
        let directory = try TemporaryDirectory()
        try fill(try openLane(directory.path))
        #expect(try openLane(directory.path, boot: "boot-2").openingState == .discarded(.machineWentDown))
    }

    @Test func `another layout of rows starts with an empty lane`() throws {
        let conditions = ReuseConditions(
            schema: Lane.schema + 1, origin: "here/registry/0", ageMaxMilliseconds: .max)
        let file = try StateFile(
            directory: directory.path + "/lane", conditions: conditions, tables: LaneTables.names,
            now: .now(),
            boot: BootID("boot-1"))
        try file.close()
        let lane = try openLane(directory.path)
        #expect(
            lane.openingState == .discarded(.otherSchema(found: Lane.schema + 1, wanted: Lane.schema)))
        try lane.close()
    }

    @Test func `an unreadable record is counted, stops nothing, and removes its row`() throws {
        let metrics = Metrics()
        let lane = try openLane(directory.path, metrics: metrics)
        try fill(lane)
        let good = token(2, group: "g")
        var noHash = good
        noHash.tokenHash = "short"
        let poison: [[UInt8]] = [
            [], [0xFF, 0xFE], Array("{".utf8), Array("[]".utf8), Array(#"{"v":9}"#.utf8),
            Array(#"{"v":1}"#.utf8),
            Array(repeating: 0x20, count: 1 << 20), noHash.encoded(),
        ]
        for (index, value) in poison.enumerated() {
            try lane.apply(value, to: key, offset: Int64(1 + index))
            let other = RegistryKey(
                app: "one", recipient: .user("u\(index)"), installation: "i", entry: .update(activity: "x"))
            try lane.apply(token(100 + index, group: "g").encoded(), to: other, offset: Int64(1 + index))
        }
        let badKeys = [
            "", "one", "one/u:/i/profile", "one/u:a/i/none:x", "one/u:a/%01/update:x", "o%zz/u:a/i/profile",
        ]
        for badKey in badKeys {
            try lane.apply(key: Array(badKey.utf8).span, value: good.encoded().span, offset: 20)
        }
        try lane.apply(key: nil, value: good.encoded().span, offset: 21)
        try lane.commit(30)
        #expect(try Set(lane.all(selection).map(\.recipient)) == Set(poison.indices.map { "u:u\($0)" }))
        let refused = poison.count + badKeys.count + 1
        #expect(metrics.render().contains(#"flotilla_registry_records_total{outcome="refused"} \#(refused)"#))
        try lane.close()
    }
}
