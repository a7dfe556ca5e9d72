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

/// The answers of the stage to people, compared with the records that were written.
///
/// One test writes a small story with known figures: two sends to the group `match`, whose member ann has the phone
/// `phone-1`. The test with two processes writes a random day.
@Suite struct AnswersTests {
    /// The time of the second send: 25 hours after the start of the day.
    private static let now = RandomDay.start + 25 * 3_600_000
    /// The version of the second send. The first send is 10 s older.
    private static let version: Int64 = 1_795_000_000

    @Test func `the answers about a send, its group and its phone equal the topics, until an erasure`()
        async throws
    {
        let cluster = try TestCluster()
        let (bed, directory) = try (
            TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes), TemporaryDirectory()
        )
        try Self.writeStory(to: bed)
        try await Self.checkStory(of: bed, in: directory) { _ in }

        // The files are caches of the topics. Without them the answers are the same.
        try FileManager.default.removeItem(atPath: directory.path + "/slot-0/insight")
        try await Self.checkStory(of: bed, in: directory) { stage in
            try Self.erase("ann", in: bed)
            try await Self.expectNoAnswerAboutAnn(in: stage)
        }
    }

    /// Checks that no answer has data of the erased user, before ingest erases it in the row of the phone.
    private static func expectNoAnswerAboutAnn(in stage: RunningInsight) async throws {
        try await eventually("the user is unknown, and no event is left") {
            let (user, events) = try await (stage.answer(.user, id: "ann"), stage.answer(.events))
            let isUnknown = (user["error"] as? [String: Any])?.string("code") == "unknown"
            return isUnknown && events.hasEmptyList("items")
        }
        let users = try await stage.answer(.users)
        #expect(users.hasEmptyList("items"), "\(users)")
        let phones = try await stage.answer(.installations, ["user": "ann"])
        #expect(phones.hasEmptyList("items"), "\(phones)")
        let range = ["from": "\(now)", "to": "\(now + 86_400_000)", "user": "ann"]
        #expect(try await stage.answer(.eventCounts, range)["totals"] as? [String: Int] == [:])
        let phone = try await stage.answer(.installation, id: "phone-1")
        #expect(phone["userId"] == nil)
        for name in ["startTokens", "activities", "pushes", "events"] {
            #expect(phone.hasEmptyList(name), "\(name)")
        }
    }

    /// Starts a process, waits for the answers of the whole story, checks them, and runs the rest of the test.
    private static func checkStory(
        of bed: TestBed, in directory: TemporaryDirectory, then: (RunningInsight) async throws -> Void
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
        try await expectStory(in: stage)
        try await then(stage)
        await stage.stop()
        #expect(stage.failure == nil)
    }

    private static func expectStory(in stage: RunningInsight) async throws {
        try await expectReportAndGroup(in: stage)
        try await expectUserAndPhone(in: stage)
        try await expectNothing(ofApp: "bank", in: stage)
    }

    private static func expectReportAndGroup(in stage: RunningInsight) async throws {
        let report = try await stage.answer(.report, id: "s-2")
        #expect(report.int("accepted") == 1 && report.int("opened") == 1)
        #expect(report["rejectedBy"] as? [String: Int] == ["Unregistered": 1])
        #expect(report.int("toGo") == 1 && report["partial"] == nil)

        let group = try await stage.answer(.group, id: "match")
        #expect(group.int("running") == 1 && group.int("onNewest") == 1)
        #expect((group["newest"] as? [String: Any])?["version"] as? Int64 == version)
        #expect(group.objects("versions").map { $0.string("sendId") } == ["s-2", "s-1"])
        #expect(try await stage.answer(.groups).objects("items").count == 1)
    }

    private static func expectUserAndPhone(in stage: RunningInsight) async throws {
        let user = try await stage.answer(.user, id: "ann")
        let reason = try #require(user["why"] as? [String: Any])
        #expect(reason.string("code") == "shows_newest", "\(reason)")
        #expect(user.objects("installations").map { $0.string("installationId") } == ["phone-1"])
        #expect(user.objects("events").count == 1)
        #expect(try await stage.answer(.installation, id: "phone-1").objects("pushes").count == 1)

        let users = try await stage.answer(.users).objects("items")
        try #require(users.count == 1)
        #expect(users[0].string("userId") == "ann" && users[0].int("installations") == 1)
        #expect(users[0]["heardAt"] as? Int64 == now)
        let phones = try await stage.answer(.installations).objects("items")
        try #require(phones.count == 1)
        #expect(phones[0].string("installationId") == "phone-1" && phones[0].string("userId") == "ann")
        #expect(phones[0].int("runningActivities") == 1)
        let range = ["from": "\(now)", "to": "\(now + 86_400_000)", "user": "ann"]
        #expect(try await stage.answer(.eventCounts, range)["totals"] as? [String: Int] == ["tap": 1])
    }

    /// Checks that another app knows nothing of the group, the user and the phone.
    private static func expectNothing(ofApp app: String, in stage: RunningInsight) async throws {
        for kind in [InsightQuery.Kind.users, .installations] {
            let foreign = try await stage.answer(kind, app: app)
            #expect(foreign.hasEmptyList("items"), "\(kind)")
        }
        for (kind, id) in [(InsightQuery.Kind.group, "match"), (.user, "ann"), (.installation, "phone-1")] {
            let foreign = try await stage.answer(kind, id: id, app: app)
            #expect((foreign["error"] as? [String: Any])?.string("code") == "unknown", "\(kind)")
        }
        #expect(try await stage.answer(.report, id: "s-2", app: app).int("accepted") == 0)
    }

    @Test func `the calls of a webhook endpoint are listed from all processes`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes)
        let directory = try TemporaryDirectory()
        let writer = try RecordWriter(on: bed, to: .members)
        for process in 0..<2 {
            var facts = ProcessFacts(
                process: "p\(process)", version: "1", stages: ["webhooks"], settings: [], startedAt: 0)
            facts.at = 1
            // The last two calls are of another endpoint and of another app.
            facts.deliveries = (0..<6).map { number in
                WebhookDelivery(
                    app: number == 5 ? "bank" : "shop", endpoint: number == 4 ? "other" : "billing",
                    event: "events-\(process)-\(number)", type: "token.dead",
                    at: Int64(10 * number + process),
                    milliseconds: 3, outcome: number == 0 ? "failed" : "delivered", attempt: 1,
                    reason: number == 0 ? "the endpoint answered 500" : nil)
            }
            writer.write(key: facts.key, value: facts.encoded())
        }
        #expect(writer.finish())
        let stage = try await RunningInsight(bed, directory: directory.path)
        /// Returns the event ids of a page, and the cursor of the next page.
        func page(_ parameters: [String: String] = [:]) async throws -> (eventIDs: [String], next: String?) {
            let answer = try await stage.answer(.deliveries, id: "billing", parameters)
            return (
                answer.objects("items").compactMap { $0.string("eventId") }, answer.string("next")
            )
        }
        // Newest first: process 1 writes each call a millisecond after process 0.
        let all = (0..<4).reversed().flatMap { ["events-1-\($0)", "events-0-\($0)"] }
        try await eventually("both processes are known") { try await page().eventIDs == all }
        #expect(try await page(["outcome": "failed"]).eventIDs == ["events-1-0", "events-0-0"])
        var paged: [String] = []
        var cursor: String?
        repeat {
            var parameters = ["limit": "3"]
            parameters["cursor"] = cursor
            let nextPage = try await page(parameters)
            paged += nextPage.eventIDs
            cursor = nextPage.next
        } while cursor != nil && paged.count < 20
        #expect(paged == all)
        await stage.stop()
    }

    @Test func `two processes answer as one, and a single one reports the missing lanes`() async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: InsightDay.lanes)
        let (firstDirectory, secondDirectory) = try (TemporaryDirectory(), TemporaryDirectory())
        var day = InsightDay(seed: 8)
        try day.write(sheets: 30, events: 400, to: bed)
        let first = try await RunningInsight(bed, directory: firstDirectory.path)
        let second = try await RunningInsight(bed, directory: secondDirectory.path)
        let dayMilliseconds: Int64 = 86_400_000
        let range = ["from": "\(RandomDay.start)", "to": "\(RandomDay.start + dayMilliseconds)"]
        let expected = try Self.eventCount(ofApp: "flash", in: bed)
        /// Returns the number of events in the answer of a process, and the number of lanes that the answer lacks.
        func counts(by stage: RunningInsight) async throws -> (events: Int, missingLanes: Int) {
            let answer = try await stage.answer(.eventCounts, app: "flash", range)
            let totals = answer["totals"] as? [String: Int] ?? [:]
            let partial = answer["partial"] as? [String: Any]
            return (totals.values.reduce(0, +), (partial?["lanes"] as? [Int])?.count ?? 0)
        }
        try await eventually("both have lanes, and each answers for all") {
            let (countsByFirst, countsBySecond) = try await (counts(by: first), counts(by: second))
            let fleet = try await first.answer(.fleet)
            let laneCounts = (fleet["members"] as? [[String: Any]] ?? []).map {
                ($0["lanes"] as? [Int] ?? []).count
            }
            let bothHaveLanes = laneCounts.count == 2 && !laneCounts.contains(0)
            let bothCountAll = countsByFirst.events == expected && countsBySecond.events == expected
            let isNothingMissing = countsByFirst.missingLanes + countsBySecond.missingLanes == 0
            return bothHaveLanes && bothCountAll && isNothingMissing && fleet["partial"] == nil
        }
        try await Self.expectReports(of: bed, in: first)
        #expect(try await Self.listedEventCount(by: first, in: range) == expected)

        // One process alone. On a busy machine it may have all lanes already, or may get them during these calls.
        await second.stop()
        let countsAlone = try await counts(by: first)
        #expect((countsAlone.missingLanes > 0) == (countsAlone.events < expected))
        for (kind, parameters) in [
            (InsightQuery.Kind.user, [:]), (.installation, [:]), (.group, [:]), (.timeline, [:]),
            (.events, ["format": "csv"]),
        ] {
            let answer = try? await first.answer(kind, id: "nobody", app: "flash", parameters)
            let code = (answer?["error"] as? [String: Any])?["code"] as? String
            if code == "insight_partial" { continue }
            #expect(try await counts(by: first).missingLanes == 0, "\(kind) answered \(code ?? "all")")
        }
        try await eventually("the remaining process has all lanes") {
            let latestCounts = try await counts(by: first)
            return latestCounts.missingLanes == 0 && latestCounts.events == expected
        }
        await first.stop()
    }

    /// Returns the number of events in the list of a process, which it reads in pages of 60.
    private static func listedEventCount(
        by stage: RunningInsight, in range: [String: String]
    ) async throws -> Int {
        let pagesMax = 100
        var eventCount = 0
        var pageCount = 0
        var cursor: String?
        repeat {
            var parameters = range.merging(["limit": "60"]) { $1 }
            parameters["cursor"] = cursor
            let page = try await stage.answer(.events, app: "flash", parameters)
            eventCount += (page["items"] as? [[String: Any]] ?? []).count
            cursor = page["next"] as? String
            pageCount += 1
        } while cursor != nil && pageCount < pagesMax
        return eventCount
    }

    /// Compares the report of each send with an independent count of the receipts.
    private static func expectReports(of bed: TestBed, in stage: RunningInsight) async throws {
        let reader = JSONReader()
        let receipts = try TopicContent(of: .receipts, in: bed).records.map {
            try Receipt.decode(#require($0.value), with: reader)
        }
        let expected = IndependentCount(of: receipts)
        #expect(!expected.outcomes.isEmpty)
        for (send, keys) in Dictionary(grouping: expected.outcomes.keys, by: \.send) {
            var outcomes: [SendTally.JobOutcome: Int] = [:]
            for key in keys { outcomes.merge(expected.outcomes[key] ?? [:], uniquingKeysWith: +) }
            func count(_ outcome: ReceiptOutcome) -> Int {
                outcomes.reduce(0) { $1.key.outcome == outcome ? $0 + $1.value : $0 }
            }
            let report = try await stage.answer(.report, id: send, app: keys[0].app)
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                #expect(report[outcome.rawValue] as? Int == count(outcome), "\(send) \(outcome)")
            }
            var reasons: [String: Int] = [:]
            for (jobOutcome, count) in outcomes where jobOutcome.outcome == .rejected {
                reasons[jobOutcome.reason ?? "none", default: 0] += count
            }
            #expect(report["rejectedBy"] as? [String: Int] == reasons)
            let environments = report["environments"] as? [String: Any] ?? [:]
            #expect(Set(environments.keys) == Set(keys.map(\.environment.rawValue)))
        }
    }

    private static func eventCount(ofApp app: String, in bed: TestBed) throws -> Int {
        let reader = JSONReader()
        return try TopicContent(of: .events, in: bed).records.count { record in
            record.value.flatMap { try? Event.decode($0, with: reader) }?.app == app
        }
    }

    // MARK: The story

    /// Writes two sends to a group. One push of the second is accepted, one rejected, and one is unfinished.
    /// There is one tap.
    private static func writeStory(to bed: TestBed) throws {
        try writeProgress(to: bed)
        try writeGroup(to: bed)
        try writePhone(to: bed)
        try writeTap(to: bed)
        try writeReceipt(to: bed)
    }

    private static let groupKey = ScopeKey(app: "shop", group: "match")

    private static func writeProgress(to bed: TestBed) throws {
        let progress = try RecordWriter(on: bed, to: .progress)
        for (id, version) in [("s-1", version - 10), ("s-2", version)] {
            var planned = ProgressRecord.PlannerPart(
                .planned, version: version, generation: Self.version - 10, laneCount: 1)
            planned.endedRecipients = 0
            let at = now + (version - Self.version) * 1000
            for part in [ProgressRecord.Part.planner(planned), .lanes([0], laneTally(expanded: 3))] {
                let record = ProgressRecord(
                    send: id, key: groupKey, isDryRun: false, acceptedAt: at, writtenAt: at, part: part)
                progress.write(key: RecordKey.join(id), value: record.encoded())
            }
        }
        #expect(progress.finish())
    }

    private static func writeGroup(to bed: TestBed) throws {
        var row = GroupRow()
        (row.generation, row.version, row.lastSendAt) = (version - 10, version, now)
        row.newestState = ScopeState(
            send: "s-2", version: version, content: PushContent(.update), priority: .immediate, deadline: 0,
            expiration: 0, acceptedAt: now)
        let groups = try RecordWriter(on: bed, to: .groups)
        groups.write(key: groupKey.bytes, value: row.encoded())
        // Only phones have named this group.
        var namedOnly = GroupRow()
        namedOnly.membersUntil = now
        groups.write(key: ScopeKey(app: groupKey.app, group: "named-only").bytes, value: namedOnly.encoded())
        #expect(groups.finish())
    }

    private static func writePhone(to bed: TestBed) throws {
        var phone = Installation(app: "shop", subject: .installation("phone-1"))
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
    }

    private static func writeTap(to bed: TestBed) throws {
        let tap = Event(
            .tap, app: "shop", installation: "phone-1", user: "ann", activity: "act", group: "match",
            eventTime: now + 5000, receivedAt: now + 5000)
        let events = try RecordWriter(on: bed, to: .events)
        events.write(key: tap.key, value: tap.encoded())
        #expect(events.finish())
    }

    private static func laneTally(expanded: Int) -> LaneTally {
        var tally = LaneTally()
        (tally.targeted, tally.expanded) = (expanded, expanded)
        return tally
    }

    /// Writes the receipt of the second send: the first of its three jobs is accepted, the second one rejected.
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
        let writer = try RecordWriter(on: bed, to: .installations)
        var erasure = Installation(app: "shop", subject: .user(user))
        erasure.erasedUpTo = ReportTime(event: now + 60_000, received: now + 60_000)
        for lane in 0..<Int32(InsightDay.lanes) {
            writer.write(
                key: RecordKey.join("shop", "e:" + user), value: erasure.encoded(), partition: lane)
        }
        // The record of the user's profile, which the erasure replaces.
        writer.write(key: erasure.key, value: erasure.encoded())
        #expect(writer.finish())
    }
}

/// The fields of an answer.
extension [String: Any] {
    fileprivate func int(_ name: String) -> Int? { self[name] as? Int }
    fileprivate func string(_ name: String) -> String? { self[name] as? String }
    /// Whether the field is a list without elements.
    fileprivate func hasEmptyList(_ name: String) -> Bool { (self[name] as? [Any])?.isEmpty == true }
    /// Returns the objects of a list, or none if the list is missing.
    fileprivate func objects(_ name: String) -> [[String: Any]] { self[name] as? [[String: Any]] ?? [] }
}
