import Foundation
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import Jobs
import Kafka
import KafkaTesting
import Members
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

@testable import Insight

/// The answers to people against the records that were written.
@Suite struct AnswersTests {
    private static let now = RandomDay.begin + 90_000_000
    private static let version: Int64 = 1_795_000_000

    @Test func `the answers about a send, its group and its phone equal the topics`() async throws {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        try Self.writeStory(to: bed)
        try await Self.tellStory(bed, directory) { _ in }
        // The files are caches of the topics. Without them the answers are the same.
        try FileManager.default.removeItem(atPath: directory.path + "/slot-0/insight")
        try await Self.tellStory(bed, directory) { stage in
            try Self.erase("ann", in: bed)
            try await eventually("an erased user has no data in answers before ingest reaches the phone") {
                let events = try await stage.answer(.events)["events"] as? [[String: Any]]
                let user = try await stage.answer(.user, id: "ann")
                return events?.isEmpty == true
                    && (user["error"] as? [String: Any])?["code"] as? String == "unknown"
            }
            let phone = try await stage.answer(.installation, id: "phone-1")
            #expect(phone["userId"] == nil)
            for name in ["startTokens", "activities", "pushes", "events"] {
                #expect((phone[name] as? [Any])?.isEmpty == true)
            }
        }
    }

    /// Starts a process, waits for the answers of the whole story, and runs the rest of the test.
    private static func tellStory(
        _ bed: TestBed, _ directory: TemporaryDirectory, then: (RunningInsight) async throws -> Void
    ) async throws {
        let stage = try await RunningInsight(bed, directory: directory.path)
        try await eventually("all records are in the files") {
            if stage.failure != nil { return true }
            let report = try await stage.answer(.report, id: "s-2")
            let group = try await stage.answer(.group, id: "match")
            let user = try await stage.answer(.user, id: "ann")
            func count(_ name: String, in answer: [String: Any]) -> Int {
                (answer[name] as? [Any])?.count ?? 0
            }
            return report["opened"] as? Int == 1 && report["toGo"] as? Int == 1
                && report["accepted"] as? Int == 1 && report["partial"] == nil
                && group["running"] as? Int == 1 && count("versions", in: group) == 2
                && count("pushes", in: user) == 1 && count("events", in: user) == 1
        }
        try await judgeStory(stage)
        try await then(stage)
        await stage.stop()
        #expect(stage.failure == nil)
    }

    private static func judgeStory(_ stage: RunningInsight) async throws {
        let report = try await stage.answer(.report, id: "s-2")
        #expect(report["accepted"] as? Int == 1 && report["opened"] as? Int == 1)
        #expect(report["rejectedBy"] as? [String: Int] == ["Unregistered": 1])
        #expect(report["toGo"] as? Int == 1 && report["partial"] == nil)

        let group = try await stage.answer(.group, id: "match")
        #expect(group["running"] as? Int == 1 && group["onNewest"] as? Int == 1)
        #expect((group["newest"] as? [String: Any])?["version"] as? Int64 == version)
        #expect(
            (group["versions"] as? [[String: Any]])?.compactMap { $0["sendId"] as? String } == ["s-2", "s-1"])
        let live = try await stage.answer(.groups)
        #expect((live["groups"] as? [[String: Any]])?.count == 1)

        let user = try await stage.answer(.user, id: "ann")
        let why = try #require(user["why"] as? [String: Any])
        #expect(why["code"] as? String == "shows_newest", "\(why)")
        let phones = try #require(user["installations"] as? [[String: Any]])
        #expect(phones.count == 1 && phones[0]["installationId"] as? String == "phone-1")
        #expect((user["events"] as? [[String: Any]])?.count == 1)
        let phone = try await stage.answer(.installation, id: "phone-1")
        #expect((phone["pushes"] as? [[String: Any]])?.count == 1)

        for (name, id) in [(InsightQuery.Kind.group, "match"), (.user, "ann"), (.installation, "phone-1")] {
            let foreign = try await stage.answer(name, id: id, app: "bank")
            #expect((foreign["error"] as? [String: Any])?["code"] as? String == "unknown", "\(name)")
        }
        #expect(try await stage.answer(.report, id: "s-2", app: "bank")["accepted"] as? Int == 0)
    }

    @Test func `two processes answer as one, and a single one reports the missing lanes`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes)
        let (one, other) = try (TemporaryDirectory(), TemporaryDirectory())
        var day = InsightDay(seed: 8)
        try day.write(sheets: 30, events: 400, to: bed)
        let first = try await RunningInsight(bed, directory: one.path)
        let second = try await RunningInsight(bed, directory: other.path)
        let range = ["from": "\(RandomDay.begin)", "to": "\(RandomDay.begin + 86_400_000)"]
        let wanted = try Self.eventsOfTopic(bed, app: "flash")
        func counted(_ stage: RunningInsight) async throws -> (events: Int, missing: Int) {
            let answer = try await stage.answer(.eventCounts, app: "flash", range)
            let totals = answer["totals"] as? [String: Int] ?? [:]
            let partial = answer["partial"] as? [String: Any]
            return (totals.values.reduce(0, +), (partial?["lanes"] as? [Int])?.count ?? 0)
        }
        var shares: Set<Int> = []
        try await eventually("both have lanes, and each answers for all") {
            let (a, b) = try await (counted(first), counted(second))
            shares = [a.events, b.events]
            let fleet = try await first.answer(.fleet)
            let lanes = (fleet["members"] as? [[String: Any]] ?? []).map {
                ($0["lanes"] as? [Int] ?? []).count
            }
            return shares == [wanted] && lanes.count == 2 && !lanes.contains(0) && a.missing + b.missing == 0
                && fleet["partial"] == nil
        }
        try await Self.judgeReports(of: bed, first)
        var pages = 0
        var ids: [String] = []
        var cursor: String?
        repeat {
            var parameters = range.merging(["limit": "60"]) { $1 }
            parameters["cursor"] = cursor
            let page = try await first.answer(.events, app: "flash", parameters)
            ids += (page["events"] as? [[String: Any]] ?? []).map {
                "\($0["at"] ?? 0) \($0["installationId"] ?? "")"
            }
            cursor = page["next"] as? String
            pages += 1
        } while cursor != nil && pages < 100
        #expect(ids.count == wanted)

        await second.stop()
        let alone = try await counted(first)
        // On a busy machine it may have all lanes already, or may get them during the following calls.
        #expect((alone.missing > 0) == (alone.events < wanted))
        for (name, parameters) in [
            (InsightQuery.Kind.user, [:]), (.installation, [:]), (.group, [:]), (.timeline, [:]),
            (.events, ["format": "csv"]),
        ] {
            let answer = try? await first.answer(name, id: "nobody", app: "flash", parameters)
            let code = (answer?["error"] as? [String: Any])?["code"] as? String
            if code == "insight_partial" { continue }
            #expect(try await counted(first).missing == 0, "\(name) answered \(code ?? "all")")
        }
        try await eventually("the remaining process has all lanes") {
            let whole = try await counted(first)
            return whole.missing == 0 && whole.events == wanted
        }
        await first.stop()
    }

    /// Compares every figure of every send with an independent count.
    private static func judgeReports(of bed: TestBed, _ stage: RunningInsight) async throws {
        let reader = JSONReader()
        let receipts = try TopicContent(of: .receipts, in: bed).records.map {
            try Receipt.decode(#require($0.value), with: reader)
        }
        let counted = FirstWords(receipts)
        #expect(!counted.ends.isEmpty)
        for (send, keys) in Dictionary(grouping: counted.ends.keys, by: \.send) {
            var ends: [SendTally.JobOutcome: Int] = [:]
            for key in keys { ends.merge(counted.ends[key] ?? [:], uniquingKeysWith: +) }
            func count(_ outcome: ReceiptOutcome) -> Int {
                ends.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
            }
            let report = try await stage.answer(.report, id: send, app: keys[0].app)
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                #expect(report[outcome.rawValue] as? Int == count(outcome), "\(send) \(outcome)")
            }
            var reasons: [String: Int] = [:]
            for (end, count) in ends where end.outcome == .rejected {
                reasons[end.reason ?? "none", default: 0] += count
            }
            #expect(report["rejectedBy"] as? [String: Int] == reasons)
            let environments = report["environments"] as? [String: Any] ?? [:]
            #expect(Set(environments.keys) == Set(keys.map(\.environment.rawValue)))
        }
    }

    private static func eventsOfTopic(_ bed: TestBed, app: String) throws -> Int {
        let reader = JSONReader()
        return try TopicContent(of: .events, in: bed).records.count { record in
            record.value.flatMap { try? Event.decode($0, with: reader) }?.app == app
        }
    }

    /// Writes two sends to a group. One push of the second is accepted, one rejected, and one is unfinished.
    /// There is one tap.
    private static func writeStory(to bed: TestBed) throws {
        let app = "shop"
        let progress = try RecordWriter(on: bed, to: .progress)
        let key = ScopeKey(app: app, group: "match")
        for (id, version) in [("s-1", version - 10), ("s-2", version)] {
            var planned = ProgressRecord.PlannerPart(
                .planned, version: version, generation: Self.version - 10, laneCount: 1)
            planned.endedRecipients = 0
            let at = now + (version - Self.version) * 1000
            for part in [ProgressRecord.Part.planner(planned), .lanes([0], tally(3))] {
                let record = ProgressRecord(
                    send: id, key: key, isDryRun: false, acceptedAt: at, writtenAt: at, part: part)
                progress.write(key: RecordKey.join(id), value: record.encoded())
            }
        }
        #expect(progress.finish())

        var row = GroupRow()
        (row.generation, row.version, row.lastSendAt) = (version - 10, version, now)
        row.newestState = ScopeState(
            send: "s-2", version: version, content: PushContent(.update), priority: .immediate, deadline: 0,
            expiration: 0, acceptedAt: now)
        let groups = try RecordWriter(on: bed, to: .groups)
        groups.write(key: key.bytes, value: row.encoded())
        #expect(groups.finish())

        var phone = Installation(app: app, subject: .installation("phone-1"))
        let time = ReportTime(event: now, received: now)
        phone.user = Timestamped(.user("ann"), at: time)
        phone.environment = Timestamped(.production, at: time)
        var activity = Installation.Activity(id: "act")
        activity.group = Timestamped("match", at: time)
        activity.lastSeenAt = time
        activity.token = .init(hash: "ab12", sealed: "00ff", environment: .production, at: time)
        phone.activities = [activity]
        let installations = try RecordWriter(on: bed, to: .installations)
        installations.write(key: phone.key, value: phone.encoded())
        #expect(installations.finish())

        let tap = Event(
            .tap, app: app, installation: "phone-1", user: "ann", activity: "act", group: "match",
            eventTime: now + 5000, receivedAt: now + 5000)
        let events = try RecordWriter(on: bed, to: .events)
        events.write(key: tap.key, value: tap.encoded())
        #expect(events.finish())
        try writeReceipt(to: bed)
    }

    private static func tally(_ expanded: Int) -> LaneTally {
        var tally = LaneTally()
        (tally.targeted, tally.expanded) = (expanded, expanded)
        return tally
    }

    private static func writeReceipt(to bed: TestBed) throws {
        let head = SheetHead(
            topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: "shop",
            environment: .production, send: "s-2", group: "match", scope: .group, generation: version - 10,
            version: version, event: .update, deadline: 1_900_000_000, acceptedAt: now)
        var (accepted, rejected) = (LineSet(), LineSet())
        accepted.append(0)
        rejected.append(1)
        let receipt = Receipt(
            head, at: JobPosition(topic: "jobs", partition: 0, offset: 7), attempt: 1, writtenAt: now + 100,
            parts: [
                .init(.accepted, lines: accepted, status: 200),
                .init(.rejected, lines: rejected, status: 410, reason: "Unregistered"),
            ])
        let lane = RegistryKey.partitionKey(app: "shop", recipient: .user("ann"))
        let partition = Int32(Murmur2.partition(forKey: lane.span, partitionCount: InsightDay.lanes))
        let producer = try Producer(settings: bed.settings, name: "receipt", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .receipts))
        var headers = RecordHeaders(capacity: 1)
        let lines = Array("phone-1\tupdate:act\tu:ann\nphone-9\tupdate:x\tu:bob\n".utf8)
        headers.add(ReceiptLines.header, value: lines.span)
        let value = receipt.encoded()
        #expect(
            producer.send(
                to: topic, partition: partition, key: nil, value: value.span, headers: &headers, tag: 0)
                == .queued)
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(deliveries.allSatisfy(\.isStored) && !deliveries.isEmpty)
    }

    /// Writes an erasure into every partition, as ingest does.
    private static func erase(_ user: String, in bed: TestBed) throws {
        let sender = try RecordWriter(on: bed, to: .installations)
        var wish = Installation(app: "shop", subject: .user(user))
        wish.erasedUpTo = ReportTime(event: now + 60_000, received: now + 60_000)
        for lane in 0..<Int32(InsightDay.lanes) {
            sender.write(
                key: RecordKey.join("shop", "e:" + user), value: wish.encoded(), partition: lane)
        }
        // The user's former profile.
        sender.write(key: wish.key, value: wish.encoded())
        #expect(sender.finish())
    }
}
