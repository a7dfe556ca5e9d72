import CatalogRecords
import Foundation
import JSON
import Kafka
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Schedules
import Sends
import Telemetry
import Testing
import Topics

@testable import Gateway

/// Schedules over HTTP, at a gateway in this process. `StandInScheduler` replies to the gateway's commands as the test
/// wants.
struct SchedulesServiceTests {
    /// The body of a valid schedule for the user jane.
    static func schedule(ofActivity activity: String = "chest_timer", otherFields: String = "") -> String {
        #"""
        {"user":"jane","activity":"\#(activity)","offset":60,
         "customData":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"ready"},"systemData":{"event":"update"}\#(otherFields)}
        """#
    }

    /// The body of an update that is due after some seconds.
    private static func laterUpdate(afterSeconds seconds: Int) -> String {
        SendsServiceTests.update().adding(member: "when", value: #"{"offset":\#(seconds)}"#)
    }

    private static let path = "/v1/schedules"

    /// Accepts every schedule, cancels two timers but finds a third already fired, and lists one. The due times count
    /// from the broker's timestamp 1,000,000.
    static let acceptsEverything: StandInScheduler.OutcomeOfCommand = { command in
        switch command.action {
        case .schedule(let schedule):
            .scheduled(
                GatewayReply.ScheduledTimer(
                    id: schedule.id, dueAt: schedule.dueAt(recordTimestamp: 1_000_000),
                    send: schedule.send.id,
                    isReplacement: schedule.name == "again"))
        case .cancel, .erase: .cancelled(2, tooLate: 1)
        case .list:
            .listed(
                [
                    GatewayReply.ListedTimer(
                        id: "s-1", name: nil, activity: "chest_timer", dueAt: 5, send: "t", event: .update)
                ], isComplete: true)
        }
    }

    @Test func `a schedule is answered with the scheduler's result, and a cancel with its count`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        let scheduler = StandInScheduler(
            settings: bench.settings, layout: bench.layout, outcome: Self.acceptsEverything)
        let created = try await bench.call(
            "POST", Self.path, body: Self.schedule(otherFields: #","id":"s-1","name":"again""#),
            key: "shop/send")
        #expect(created.status == 200, "\(created.body)")
        let command = try #require(scheduler.commands.first)
        guard case .schedule(let schedule) = command.action else { throw DeciderFixture.NotStored() }
        #expect(
            created.body.hasPrefix(
                #"{"scheduleId":"s-1","scheduleName":"again","sendId":"\#(schedule.send.id)","dueAt":1060000,"replaced":true,"bytes":"#
            ), "\(created.body)")

        let canceled = try await bench.call(
            "DELETE", Self.path + "?user=jane&activity=chest_timer", key: "shop/send")
        #expect(canceled.status == 200 && canceled.body == #"{"canceled":2,"tooLate":1}"#)
        let listed = try await bench.call("GET", Self.path + "?user=jane", key: "shop/read")
        #expect(
            listed.body
                == #"{"items":[{"scheduleId":"s-1","activity":"chest_timer","event":"update","dueAt":5,"sendId":"t"}]}"#
        )
        #expect(scheduler.commands.count == 3 && scheduler.commands.allSatisfy { $0.address == "127.0.0.1" })
        #expect(scheduler.commands.prefix(2).allSatisfy { $0.author == bench.keyRecords["shop/send"]?.id })
        #expect(
            bench.metrics.render().contains(
                #"flotilla_gateway_requests_total{kind="schedule",outcome="answered"} 3"#))
        scheduler.stop()
        await bench.stop()
    }

    @Test func `without the role, and from phones of an app without user proofs, nothing is scheduled`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        #expect(try await bench.call("GET", Self.path + "?user=jane", key: "shop/report").status == 403)
        #expect(
            try await bench.call("POST", Self.path, body: Self.schedule(), key: "shop/read").status == 403)
        for (method, path, body) in [
            ("POST", Self.path, Self.schedule()),
            ("DELETE", Self.path + "?user=jane&activity=chest_timer", ""),
        ] {
            let refused = try await bench.call(method, path, body: body, key: "shop/report")
            #expect(refused.status == 403 && refused.code == "schedules_need_proof", "\(refused.body)")
        }
        #expect(try await bench.records(of: .schedules, atLeast: 0).isEmpty)
        await bench.stop()
    }

    @Test func `the answer to a send for later has its due time, and no send is stored`() async throws {
        let bench = try await GatewayBench.forSends()
        let scheduler = StandInScheduler(
            settings: bench.settings, layout: bench.layout, outcome: Self.acceptsEverything)
        let later = try await bench.call("POST", "/v1/sends", body: Self.laterUpdate(afterSeconds: 5))
        #expect(try later.status == 202 && later.member("dueAt") == "1005000", "\(later.body)")
        #expect(try await bench.records(of: .sends, atLeast: 0).isEmpty)
        scheduler.stop()
        await bench.stop()
    }

    @Test
    func `a command without a timely reply is stored, and the answer says that it is under way`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        async let created = bench.call("POST", Self.path, body: Self.schedule())
        async let canceled = bench.call(
            "DELETE", Self.path + "?user=jane&activity=chest_timer", key: "shop/send")
        async let listed = bench.call("GET", Self.path + "?user=jane")
        async let sent = bench.call("POST", "/v1/sends", body: Self.laterUpdate(afterSeconds: 5))
        let answers = try await [created, canceled, listed, sent]
        #expect(answers.map(\.status) == [202, 202, 503, 202])
        #expect(answers[0].body.hasPrefix(#"{"underWay":true,"scheduleId":"t-"#), "\(answers[0].body)")
        #expect(answers[1].body == #"{"underWay":true}"#)
        #expect(answers[2].code == "scheduler_silent" && answers[2].header("Retry-After") == "5")
        #expect(answers[3].body.contains(#","underWay":true,"#))
        let commands = try await bench.records(of: .schedules, atLeast: 4).map {
            try ScheduleCommand.decode(Array($0.value.utf8), with: JSONReader())
        }
        #expect(commands.count == 4 && Set(commands.compactMap(\.replyTo?.request)).count == 4)
        #expect(Set(commands.compactMap(\.replyTo?.partition)).count == 1)
        await bench.stop()
    }

    @Test
    func `a key with another body is a conflict, and a repetition has the same ids on every gateway`()
        async throws
    {
        let first = try await GatewayBench.forSends()
        let second = try await first.another()
        let knownKeys = IdempotencyKeys()
        let scheduler = StandInScheduler(settings: first.settings, layout: first.layout) { command in
            guard case .schedule(let schedule) = command.action, let key = schedule.idempotency else {
                return nil
            }
            return knownKeys.accepts(key) ? Self.acceptsEverything(command) : .conflict(send: "first")
        }
        let headers = ["Idempotency-Key: k-1"]
        let created = try await first.call("POST", Self.path, body: Self.schedule(), headers: headers)
        let repeated = try await second.call("POST", Self.path, body: Self.schedule(), headers: headers)
        #expect(
            created.status == 200 && created.body == repeated.body, "\(created.body) \(repeated.body)")
        let conflicting = try await second.call(
            "POST", Self.path, body: Self.schedule(otherFields: #","priority":5"#), headers: headers)
        #expect(conflicting.status == 409 && conflicting.code == "idempotency_conflict")
        #expect(try conflicting.member("sendId") == "first", "\(conflicting.body)")
        let ids = try scheduler.commands.map { command in
            guard case .schedule(let schedule) = command.action else { throw DeciderFixture.NotStored() }
            return schedule.send.id
        }
        #expect(ids.count == 3 && Set(ids).count == 1)
        scheduler.stop()
        await second.stop()
        await first.stop()
    }

    /// The scheduler's memory of idempotency keys.
    private final class IdempotencyKeys: Sendable {
        /// The fingerprint of the first body with each key.
        private let fingerprints = TracedLock<[String: String]>([:])

        /// Returns false if the key came with another body before.
        func accepts(_ key: Idempotency) -> Bool {
            fingerprints.withLock { fingerprints in
                if let known = fingerprints[key.key] { return known == key.fingerprint }
                fingerprints[key.key] = key.fingerprint
                return true
            }
        }
    }

    @Test func `a waiting send is found by its id, and its cancel goes to the scheduler and the planner`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        let scheduler = StandInScheduler(
            settings: bench.settings, layout: bench.layout, outcome: Self.acceptsEverything)
        let body = Self.laterUpdate(afterSeconds: 900)
        let ids = try await [
            bench.call("POST", "/v1/sends", body: body).member("sendId"),
            bench.call("POST", "/v1/sends", body: body, headers: ["Idempotency-Key: k"]).member("sendId"),
        ]
        // The rows that the scheduler would keep of them.
        let rows = scheduler.commands.compactMap { command -> TimerRow? in
            guard case .schedule(let schedule) = command.action else { return nil }
            return TimerRow(
                app: "shop", owner: command.owner, id: schedule.id, activity: "m1", dueAt: 7,
                latenessMillisecondsMax: 5,
                send: schedule.send, commandOffset: 0)
        }
        #expect(rows.count == 2)
        try await writeTimers(rows.map { ($0, $0.encoded()) }, to: bench)
        for id in ids {
            let waiting = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
            #expect(
                try waiting.member("verdict") == "scheduled" && waiting.member("dueAt") == "7",
                "\(waiting.body)")
            #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "bank/read").status == 404)
            #expect(try await bench.call("DELETE", "/v1/sends/\(id)").status == 202)
        }
        let reader = JSONReader()
        let cancels = try await bench.records(of: .sends, atLeast: 2).map {
            try SendRequest.decode(Array($0.value.utf8), with: reader)
        }
        #expect(cancels.count == 2)
        try await eventually("the commands") { scheduler.commands.count == 4 }
        #expect(scheduler.commands.suffix(2).map(\.action) == ids.map { .cancel(.send($0)) })
        #expect(scheduler.commands.suffix(2).allSatisfy { $0.owner == .group("m1") && $0.replyTo == nil })
        // A send that has fired or was cancelled no longer waits.
        try await writeTimers(rows.map { ($0, nil) }, to: bench)
        for id in ids {
            let answer = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
            #expect(answer.code == "send_unknown", "\(answer.body)")
        }
        scheduler.stop()
        await bench.stop()
    }

    /// Writes rows as the scheduler writes them, or tombstones.
    private func writeTimers(_ rows: [(TimerRow, [UInt8]?)], to bench: GatewayBench) async throws {
        let (settings, layout) = (bench.settings, bench.layout)
        let records = rows.map { (owner: $0.owner.key(app: $0.app), key: $0.key, value: $1) }
        try await onThread {
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: layout.name(of: .timers))
            for record in records {
                let partition = Murmur2.partition(forKey: record.owner.span, partitionCount: layout.lanes)
                _ = producer.send(
                    to: topic, partition: Int32(partition), key: record.key.span,
                    value: record.value?.span, tag: 0)
            }
            var deliveries: [Delivery] = []
            _ = producer.flush(withinMilliseconds: 10_000, into: &deliveries)
            #expect(deliveries.count == records.count && deliveries.allSatisfy(\.isStored))
        }
    }
}
