import CatalogRecords
import Foundation
import Identifiers
import JSON
import Kafka
import Payloads
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

@testable import Gateway
@testable import HTTPServer

/// The progress of a send, which the gateway collects from the records of planner and expander, and the cancel of a
/// send. The tests write these records, because no planner or expander runs. `shop/read` is the key of an app and a role.
struct SendProgressTests {
    /// Writes records as planner and expander write them.
    private func write(_ records: [ProgressRecord], to bench: GatewayBench) async throws {
        let (settings, layout) = (bench.settings, bench.layout)
        try await onThread {
            let producer = try Producer(settings: settings, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: layout.name(of: .progress))
            for record in records {
                _ = try producer.storeRecord(
                    action: "write", in: topic, key: RecordKey.join(record.send), value: record.encoded())
            }
        }
    }

    private func tally(targeted: Int, expanded: Int, excluded: [String: Int] = [:]) -> LaneTally {
        var tally = LaneTally()
        (tally.targeted, tally.expanded, tally.excludedByReason) = (targeted, expanded, excluded)
        return tally
    }

    /// Posts a send after five others, among which the gateway must find it. Returns its id.
    private func postSend(to bench: GatewayBench, idempotencyKey: String? = nil) async throws -> String {
        for _ in 0..<5 {
            _ = try await bench.call("POST", "/v1/sends", body: SendsServiceTests.update(ofGroup: "other"))
        }
        let posted = try await bench.call(
            "POST", "/v1/sends", body: SendsServiceTests.update(),
            headers: idempotencyKey.map { ["Idempotency-Key: \($0)"] } ?? [])
        return try posted.member("sendId")
    }

    @Test(arguments: [nil, "a-key"])
    func `a send is found from its id, by its own app alone`(idempotencyKey: String?) async throws {
        let bench = try await GatewayBench.forSends()
        let id = try await postSend(to: bench, idempotencyKey: idempotencyKey)
        let waiting = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
        #expect(waiting.status == 200, "\(waiting.body)")
        #expect(try waiting.member("verdict") == "accepted" && waiting.member("isComplete") == "0")
        #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "bank/read").status == 404)
        #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "shop/report").status == 403)
        await bench.stop()
    }

    @Test func `a send is found from its idempotency key and its group, by its own app alone`() async throws {
        let bench = try await GatewayBench.forSends()
        let id = try await postSend(to: bench, idempotencyKey: "a-key")
        let path = "/v1/sends/keys/a-key"
        let found = try await bench.call("GET", path + "?groupId=m1", key: "shop/read")
        #expect(try found.status == 200 && found.member("sendId") == id, "\(found.body)")
        for query in ["?groupId=m2", "?groupId=m1&later=true", "?activityId=m1"] {
            #expect(try await bench.call("GET", path + query, key: "shop/read").status == 404, "\(query)")
        }
        #expect(try await bench.call("GET", path + "?groupId=m1", key: "bank/read").status == 404)
        #expect(try await bench.call("GET", path, key: "shop/read").field == "groupId")
        await bench.stop()
    }

    @Test func `the progress of a send is complete when all of its lanes have finished`() async throws {
        let bench = try await GatewayBench.forSends()
        let id = try await postSend(to: bench)
        func write(_ part: ProgressRecord.Part) async throws {
            let record = ProgressRecord(
                send: id, key: ScopeKey(app: "shop", group: "m1"), isDryRun: false, acceptedAt: 5,
                writtenAt: 9, part: part)
            try await self.write([record], to: bench)
        }
        // Lane 1 has finished, lane 0 has not.
        try await write(.lanes([1], tally(targeted: 10, expanded: 8, excluded: ["expired": 2])))
        try await write(
            .planner(ProgressRecord.PlannerPart(.planned, version: 3, generation: 2, laneCount: 2)))
        let partial = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
        #expect(try partial.member("verdict") == "planned" && partial.member("isComplete") == "0")

        let tallyOfLane0 = tally(targeted: 5, expanded: 5, excluded: ["expired": 1, "dismissed": 1])
        try await write(.lanes([0], tallyOfLane0))
        // The time in the query is a hint where the records are, and may be wrong.
        for query in ["", "?at=\(Int64(Date().timeIntervalSince1970 * 1000))", "?at=0"] {
            let complete = try await bench.call("GET", "/v1/sends/\(id)\(query)", key: "shop/read")
            #expect(complete.body.contains(#""isComplete":true"#), "\(query) \(complete.body)")
            #expect(
                complete.body.contains(
                    #""targeted":15,"expanded":13,"dropped":0,"excluded":{"dismissed":1,"expired":3}"#))
        }
        for query in ["?at=-1", "?at=now", "?at=9007199254740993", "?at=1&at=2", "?since=1"] {
            let refused = try await bench.call("GET", "/v1/sends/\(id)\(query)", key: "shop/read")
            #expect(refused.status == 422, "\(query) \(refused.body)")
        }
        #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "bank/read").status == 404)
        await bench.stop()
    }

    @Test func `a cancel follows its send in the partition, and an unknown send cannot be cancelled`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        let id = try await bench.call("POST", "/v1/sends", body: SendsServiceTests.start()).member("sendId")
        #expect(try await bench.call("DELETE", "/v1/sends/\(id)", key: "shop/read").status == 403)
        #expect(try await bench.call("DELETE", "/v1/sends/\(id)", key: "bank/send").status == 404)
        #expect(try await bench.call("DELETE", "/v1/sends/\(id)", body: "{}").status == 422)
        let cancelled = try await bench.call("DELETE", "/v1/sends/\(id)")
        #expect(cancelled.status == 202, "\(cancelled.body)")
        for unknown in [
            "r-1-0-000000000000000000000000", "k-0-00000000000000000000000000000000", "nonsense", "%2e%2e%2f",
        ] {
            for method in ["GET", "DELETE"] {
                let answer = try await bench.call(method, "/v1/sends/\(unknown)")
                #expect(answer.status == 404 && answer.code == "send_unknown", "\(answer.body)")
            }
        }
        #expect(try await bench.call("GET", "/v1/sends/\(id)?at=x").code == "invalid")

        let records = try await bench.records(of: .sends, atLeast: 2)
        #expect(records.count == 2 && records[0].key == records[1].key)
        guard
            case .cancellation(let cancel) = try SendRequest.decode(
                Array(records[1].value.utf8), with: JSONReader())
        else {
            Issue.record("no cancel")
            return
        }
        #expect(cancel.send == id && cancel.group == "m1" && cancel.app == "shop")
        let actions = try await bench.auditOfSends(atLeast: 2).map(\.action)
        #expect(actions.contains("send.cancel"))
        await bench.stop()
    }

    @Test func `a cancel of a send to one user of a group names the user, planned or not`() async throws {
        let bench = try await GatewayBench.forSends()
        for isPlanned in [false, true] {
            let body = SendsServiceTests.update().adding(
                member: "audience", value: #"{"users":["jane"]}"#)
            let id = try await bench.call("POST", "/v1/sends", body: body).member("sendId")
            if isPlanned {
                var planned = ProgressRecord.PlannerPart(.held)
                planned.recipient = .user("jane")
                let key = ScopeKey(app: "shop", group: "m1")
                try await write(
                    [
                        ProgressRecord(
                            send: id, key: key, isDryRun: false, acceptedAt: 1, writtenAt: 1,
                            part: .planner(planned))
                    ], to: bench)
            }
            #expect(try await bench.call("DELETE", "/v1/sends/\(id)").status == 202)
        }
        let cancels = try await bench.records(of: .sends, atLeast: 4).compactMap { record -> Cancellation? in
            guard
                case .cancellation(let cancel) = try SendRequest.decode(
                    Array(record.value.utf8), with: JSONReader())
            else { return nil }
            return cancel
        }
        #expect(cancels.map(\.recipient) == [.user("jane"), .user("jane")])
        await bench.stop()
    }
}

/// The progress of a send as the sum of its records, without a gateway.
struct SendProgressSumTests {
    /// Returns a record of the planner about the send `s`.
    private func record(
        with verdict: ProgressRecord.PlannerVerdict, to user: String? = nil
    ) -> ProgressRecord {
        var part = ProgressRecord.PlannerPart(verdict, version: 1, laneCount: 1)
        part.recipient = user.map { .user($0) }
        return ProgressRecord(
            send: "s", key: ScopeKey(app: "shop", group: "g"), isDryRun: false, acceptedAt: 1, writtenAt: 1,
            part: .planner(part))
    }

    /// Returns the progress after records of the planner, in this order.
    private func progress(after verdicts: ProgressRecord.PlannerVerdict...) -> SendProgress {
        var progress = SendProgress(id: "s")
        for verdict in verdicts { progress.add(record(with: verdict)) }
        return progress
    }

    @Test func `a conflict replaces neither the verdict nor the recipient`() {
        var progress = SendProgress(id: "s")
        progress.add(record(with: .held, to: "ben"))
        #expect(progress.recipient == .user("ben"))
        progress.add(record(with: .planned, to: "ben"))
        progress.add(record(with: .conflict))
        #expect(progress.recipient == .user("ben"))
        #expect(progress.plannerPart?.verdict == .planned && progress.conflictCount == 1)
    }

    @Test func `a send is cancelled in any order of the scheduler's and planner's records`() {
        #expect(progress(after: .cancelled, .stopping).plannerPart?.verdict == .cancelled)
        let cancelledLast = progress(after: .stopping, .cancelled)
        #expect(cancelledLast.plannerPart?.verdict == .cancelled && cancelledLast.isComplete)
    }

    @Test func `a refused cancel leaves a send planned and incomplete`() {
        let progress = progress(after: .planned, .cancelRefused)
        #expect(progress.stateName == "cancelRefused" && !progress.isComplete)
        #expect(progress.plannerPart?.version == 1 && progress.plannerPart?.laneCount == 1)
    }

    @Test func `a refused cancel does not change an ended send, which lanes do not have to stop`() {
        #expect(progress(after: .ended, .cancelRefused).plannerPart?.verdict == .ended)
    }

    @Test func `a waiting send to one user has a recipient, unless its group is that user's own`() {
        var send = Send(
            id: "s", app: "shop", group: "g", audience: .users(["ada"]), content: PushContent(.update),
            priority: .immediate, acceptedAt: 1)
        #expect(SendProgress(waiting: send).recipient == .user("ada"))
        send.owner = .user("ada")
        #expect(SendProgress(waiting: send).recipient == nil)
    }

    @Test func `lane counts of an earlier send with the same key do not count for a later one`() {
        var progress = SendProgress(id: "k")
        let key = ScopeKey(app: "shop", group: "g")
        for version in [7, 90_000] as [Int64] {
            let parts: [ProgressRecord.Part] = [
                .planner(ProgressRecord.PlannerPart(.planned, version: version, laneCount: 1)),
                .lanes([0], LaneTally()),
            ]
            for part in parts {
                #expect(!progress.isComplete || progress.plannerPart?.version != version)
                progress.add(
                    ProgressRecord(
                        send: "k", key: key, isDryRun: false, acceptedAt: 1, writtenAt: 1, part: part))
            }
            #expect(progress.isComplete)
        }
    }

    @Test func `an update of an unknown group reports the unknown group`() {
        var progress = SendProgress(id: "s")
        let key = ScopeKey(app: "shop", group: "g")
        func add(_ part: ProgressRecord.Part) {
            progress.add(
                ProgressRecord(
                    send: "s", key: key, isDryRun: false, acceptedAt: 1, writtenAt: 1, part: part))
        }
        add(.planner(ProgressRecord.PlannerPart(.held)))
        #expect(!progress.isComplete)
        add(.planner(ProgressRecord.PlannerPart(.planned, version: 1, laneCount: 1)))
        #expect(!progress.isComplete)
        add(.lanes([0], LaneTally()))
        #expect(
            String(decoding: progress.response(report: nil).body, as: UTF8.self).contains(
                #""reason":"unknown_group""#))
        #expect(
            String(decoding: progress.response(report: nil).body, as: UTF8.self).contains(#""targeted":0"#))
    }

    @Test func `a start that an END has ended early reports the lanes with recipients that were not visited`()
    {
        var progress = SendProgress(id: "s")
        var endedEarly = LaneTally()
        endedEarly.hasEndedEarly = true
        for (lane, tally) in [(0, LaneTally()), (1, endedEarly), (2, endedEarly)] {
            progress.add(
                ProgressRecord(
                    send: "s", key: ScopeKey(app: "shop", group: "g"), isDryRun: false, acceptedAt: 1,
                    writtenAt: 1, part: .lanes([lane], tally)))
        }
        #expect(
            String(decoding: progress.response(report: nil).body, as: UTF8.self).contains(
                #""lanesPartlyVisited":2"#))
        #expect(!endedEarly.isEmpty, "a lane without recipients and such a lane do not share a record")
    }
}
