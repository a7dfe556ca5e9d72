import CatalogRecords
import Foundation
import Identifiers
import InstallationRecords
import JSON
import Kafka
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

@testable import Gateway
@testable import HTTPServer

/// Sends over HTTP: the answers, the stored records, and the audit log.
struct SendsServiceTests {
    /// The body of a valid start.
    static func start(ofGroup group: String = "m1", audience: String = #""everyone""#) -> String {
        #"""
        {"event":"start","groupId":"\#(group)","attributesType":"\#(GatewayBench.matchType)","audience":\#(audience),
        "attributes":{"leagueName":"L","homeTeamName":"A","awayTeamName":"B","matchStartTime":"18.30"},
        "contentState":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st"},"alert":{"title":"t"}}
        """#
    }

    /// The body of a valid update.
    static func update(ofGroup group: String = "m1", score: Int = 1) -> String {
        #"""
        {"event":"update","groupId":"\#(group)",
        "contentState":{"homeTeamScore":\#(score),"awayTeamScore":0,"matchStatus":"2nd"}}
        """#
    }

    @Test func `an accepted send is in sends and in the audit, and a refused one is in neither`()
        async throws
    {
        let (bench, _cluster) = try await GatewayBench.forSends()
        let first = try await bench.call("POST", "/v1/sends", body: Self.start())
        #expect(first.status == 202, "\(first.body)")
        #expect(first.header("Location") == "/v1/sends/\(try first.member("sendId"))")
        let refused = try await bench.call(
            "POST", "/v1/sends", body: Self.start(audience: #"{"segments":["x"]}"#))
        #expect(refused.status == 422 && refused.code == "segment_unknown")
        #expect(
            refused.body.contains(#""problems":[{"code":"segment_unknown","field":"audience.segments[0]""#))
        let broken = try await bench.call("POST", "/v1/sends", body: #"{"event":"update","event":"end"}"#)
        #expect(broken.status == 400 && broken.code == "duplicate_key" && broken.field == "event")
        let large = try await bench.call(
            "POST", "/v1/sends", body: String(repeating: " ", count: GatewayLimits.sendBytesMax + 1))
        #expect(large.status == 413)
        let compressed = try await bench.call(
            "POST", "/v1/sends", body: Self.update(), headers: ["Content-Encoding: gzip"])
        #expect(compressed.status == 415)
        #expect(try await bench.call("POST", "/v1/sends", body: Self.update()).status == 202)
        #expect(try await bench.sends(atLeast: 2).map(\.content.event) == [.start, .update])
        let audited = try await bench.audit(atLeast: 2).filter { $0.action.hasPrefix("send.") }
        #expect(audited.map(\.action).sorted() == ["send.start", "send.update"])
        #expect(
            bench.metrics.render().contains(
                #"flotilla_gateway_requests_total{kind="send",outcome="accepted"} 2"#))
        await bench.stop()
        let log = try bench.logged()
        #expect(!log.contains("homeTeam"), "content in the log")
        _ = _cluster
    }

    @Test func `types and segments can be put, shown, listed and deleted, at once on every gateway`()
        async throws
    {
        let (first, _cluster) = try await GatewayBench.forSends()
        let second = try await first.another()
        let type =
            #"{"requiredAttributes":["orderId"],"groupAttribute":"order","private":true,"updateTokenTtl":"2h"}"#
        let put = try await first.call("PUT", "/v1/activity-types/Order", body: type, key: "shop/admin")
        #expect(put.status == 200, "\(put.body)")
        #expect(try await first.call("GET", "/v1/activity-types/Order", key: "shop/read").body == put.body)
        let elsewhere = try await second.call("GET", "/v1/activity-types/Order", key: "shop/read")
        #expect(elsewhere.body == put.body, "the second gateway reads the catalog to its end")
        #expect(try await second.call("GET", "/v1/activity-types/Order", key: "bank/read").status == 404)
        #expect(
            try await first.call("PUT", "/v1/activity-types/Order", body: type, key: "shop/send").status
                == 403)
        let wrong = try await first.call(
            "PUT", "/v1/activity-types/Order", body: #"{"ttl":1,"private":"yes"}"#, key: "shop/admin")
        #expect(
            wrong.status == 422 && wrong.body.contains("unknown_field") && wrong.body.contains("wrong_type"))
        let rule = #"{"rule":{"and":[{"tag":"vip"},{"attribute":"age","atLeast":18}]}}"#
        #expect(
            try await first.call("PUT", "/v1/segments/adults", body: rule, key: "shop/admin").status == 200)
        let send = Self.start(audience: #"{"segments":["adults"]}"#)
        #expect(try await second.call("POST", "/v1/sends", body: send).status == 202)
        #expect(
            try await second.call("POST", "/v1/sends", body: send, key: "bank/send").code == "segment_unknown"
        )
        #expect(
            try await second.call("PUT", "/v1/segments/x", body: #"{"rule":{}}"#, key: "shop/admin").status
                == 422)
        let list = try await second.call("GET", "/v1/segments", key: "shop/read").body
        #expect(list == #"{"items":[{"name":"adults"}]}"#)
        #expect(try await first.call("DELETE", "/v1/segments/adults", key: "shop/admin").status == 204)
        #expect(try await first.call("POST", "/v1/sends", body: send).code == "segment_unknown")
        #expect(try await first.call("DELETE", "/v1/segments/adults", key: "shop/admin").status == 404)
        #expect(try await first.call("DELETE", "/v1/activity-types/Order", key: "shop/admin").status == 204)
        let defined = try await first.call(
            "POST", "/rest/3.0/createNotificationDefinition", body: NetmeraExamplesTests.definition)
        let number = try defined.member("notificationKey")
        #expect(try await second.call("GET", "/v1/definitions/\(number)", key: "shop/read").status == 200)
        #expect(try await second.call("DELETE", "/v1/definitions/\(number)", key: "shop/admin").status == 204)
        #expect(try await second.call("GET", "/v1/definitions", key: "shop/read").body == #"{"items":[]}"#)
        let actions = Set(try await first.audit(atLeast: 8).map(\.action))
        #expect(
            actions.isSuperset(of: [
                "type.put", "type.delete", "segment.put", "segment.delete", "definition.create",
                "definition.delete",
            ]))
        await second.stop()
        await first.stop()
        _ = _cluster
    }

    @Test func `a backend's calls about a user go to ingest`() async throws {
        let (bench, _cluster) = try await GatewayBench.forSends()
        let profile = try await bench.call(
            "PUT", "/v1/users/jane%2F1/profile", body: #"{"tags":["vip"],"attributes":{"age":30}}"#)
        #expect(profile.status == 202, "\(profile.body)")
        #expect(try await bench.call("PUT", "/v1/users/jane/profile", body: "{}").status == 422)
        #expect(
            try await bench.call("PUT", "/v1/users/jane/profile", body: #"{"tags":[7]}"#).field == "tags[0]")
        let deep =
            #"{"attributes":\#(String(repeating: #"{"a":"#, count: 9))1\#(String(repeating: "}", count: 9))}"#
        #expect(try await bench.call("PUT", "/v1/users/jane/profile", body: deep).code == "out_of_range")
        let erased = try await bench.call("DELETE", "/v1/users/jane%2F1")
        #expect(erased.status == 202 && erased.body.contains("receipts within 7; events"))
        #expect(try await bench.call("DELETE", "/v1/users/jane", key: "shop/report").status == 403)
        #expect(try await bench.call("DELETE", "/v1/users/jane", body: "{}").status == 422)
        let reports = try await bench.records(of: .reports, atLeast: 2)
        #expect(Set(reports.map(\.key)) == ["shop/u:jane%2f1"])
        let decoded = try reports.map { try Report.decode(Array($0.value.utf8), with: JSONReader()) }
        #expect(decoded.map(\.kind) == [.profile, .erase] && decoded[0].tags == ["vip"])
        #expect(decoded[1].isUserErasure)
        let orders = try await bench.records(of: .schedules, atLeast: 1)
        #expect(orders.map(\.key) == ["shop/u:jane%2f1"], "the user's schedules are cancelled, too")
        #expect(orders.allSatisfy { $0.value.contains(#""cancels":{"everything":true}"#) })
        await bench.stop()
        _ = _cluster
    }
}

/// The progress of a send, from the records of planner and expander, and the cancel of a send.
struct SendProgressTests {
    /// Writes the records that planner and expander would write.
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

    @Test(arguments: [nil, "a-key"])
    func `a send and its progress are found from its id, by its own app alone`(
        idempotencyKey: String?
    ) async throws {
        let (bench, _cluster) = try await GatewayBench.forSends()
        let headers = idempotencyKey.map { ["Idempotency-Key: \($0)"] } ?? []
        for _ in 0..<5 {
            _ = try await bench.call("POST", "/v1/sends", body: SendsServiceTests.update(ofGroup: "other"))
        }
        let posted = try await bench.call(
            "POST", "/v1/sends", body: SendsServiceTests.update(), headers: headers)
        let id = try posted.member("sendId")
        let waiting = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
        #expect(waiting.status == 200, "\(waiting.body)")
        #expect(try waiting.member("verdict") == "accepted" && waiting.member("isComplete") == "0")
        #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "bank/read").status == 404)
        #expect(try await bench.call("GET", "/v1/sends/\(id)", key: "shop/report").status == 403)
        if let idempotencyKey {
            let lost = "/v1/sends/keys/\(idempotencyKey)"
            let found = try await bench.call("GET", lost + "?groupId=m1", key: "shop/read")
            #expect(try found.status == 200 && found.member("sendId") == id, "\(found.body)")
            for query in ["?groupId=m2", "?groupId=m1&later=true", "?activityId=m1"] {
                #expect(try await bench.call("GET", lost + query, key: "shop/read").status == 404, "\(query)")
            }
            #expect(try await bench.call("GET", lost + "?groupId=m1", key: "bank/read").status == 404)
            #expect(try await bench.call("GET", lost, key: "shop/read").field == "groupId")
        }
        let key = ScopeKey(app: "shop", group: "m1")
        func record(of part: ProgressRecord.Part) -> ProgressRecord {
            ProgressRecord(
                send: id, key: key, isDryRun: false, acceptedAt: 5, writtenAt: 9, part: part)
        }
        try await write(
            [
                record(of: .lanes([1], tally(targeted: 10, expanded: 8, excluded: ["expired": 2]))),
                record(
                    of: .planner(
                        ProgressRecord.PlannerPart(
                            .planned, version: 3, generation: 2, laneCount: 2))
                ),
            ], to: bench)
        let partial = try await bench.call("GET", "/v1/sends/\(id)", key: "shop/read")
        #expect(try partial.member("verdict") == "planned" && partial.member("isComplete") == "0")
        try await write(
            [
                record(
                    of: .lanes(
                        [0], tally(targeted: 5, expanded: 5, excluded: ["expired": 1, "dismissed": 1])))
            ], to: bench)
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
        _ = _cluster
    }

    @Test func `a cancel follows its send in the partition, and an unknown send cannot be cancelled`()
        async throws
    {
        let (bench, _cluster) = try await GatewayBench.forSends()
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
        let actions = try await bench.audit(atLeast: 2).map(\.action)
        #expect(actions.contains("send.cancel"))
        await bench.stop()
        _ = _cluster
    }

    @Test
    func `a send to one user of a group keeps its recipient, and a conflict does not replace the verdict`() {
        let key = ScopeKey(app: "shop", group: "g")
        func record(with verdict: ProgressRecord.PlannerVerdict, to user: String? = nil) -> ProgressRecord {
            var part = ProgressRecord.PlannerPart(verdict, version: 1, laneCount: 1)
            part.recipient = user.map { .user($0) }
            return ProgressRecord(
                send: "s", key: key, isDryRun: false, acceptedAt: 1, writtenAt: 1, part: .planner(part))
        }
        var progress = SendProgress(id: "s")
        progress.add(record(with: .held, to: "ben"))
        #expect(progress.recipient == .user("ben"))
        progress.add(record(with: .planned, to: "ben"))
        progress.add(record(with: .conflict))
        #expect(progress.recipient == .user("ben"))
        #expect(progress.plannerPart?.verdict == .planned && progress.conflictCount == 1)
        var cancelledFirst = SendProgress(id: "s")
        cancelledFirst.add(record(with: .cancelled))
        cancelledFirst.add(record(with: .stopping))
        #expect(
            cancelledFirst.plannerPart?.verdict == .cancelled,
            "in any order of the scheduler's and planner's records")
        var stoppingFirst = SendProgress(id: "s")
        stoppingFirst.add(record(with: .stopping))
        stoppingFirst.add(record(with: .cancelled))
        #expect(stoppingFirst.plannerPart?.verdict == .cancelled && stoppingFirst.isComplete)
        var notStopped = SendProgress(id: "s")
        notStopped.add(record(with: .planned))
        notStopped.add(record(with: .cancelRefused))
        #expect(notStopped.stateName == "cancelRefused" && !notStopped.isComplete)
        #expect(notStopped.plannerPart?.version == 1 && notStopped.plannerPart?.laneCount == 1)
        var ended = SendProgress(id: "s")
        ended.add(record(with: .ended))
        ended.add(record(with: .cancelRefused))
        #expect(ended.plannerPart?.verdict == .ended, "the lanes have nothing to stop")
        var send = Send(
            id: "s", app: "shop", group: "g", audience: .users(["ada"]), content: PushContent(.update),
            priority: .immediate, acceptedAt: 1)
        #expect(SendProgress(waiting: send).recipient == .user("ada"))
        send.owner = .user("ada")
        #expect(SendProgress(waiting: send).recipient == nil)
    }

    @Test func `a cancel of a send to one user of a group names the user, planned or not`() async throws {
        let (bench, _cluster) = try await GatewayBench.forSends()
        for isPlanned in [false, true] {
            let body =
                "{\"audience\":{\"users\":[\"jane\"]}," + SendsServiceTests.update().dropFirst()
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
        _ = _cluster
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
}
