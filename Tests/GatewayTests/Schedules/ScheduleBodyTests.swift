import CatalogRecords
import Cryptography
import Foundation
import HTTPServer
import Identifiers
import JSON
import Payloads
import RecordFormat
import Schedules
import Sends
import Telemetry
import Testing

@testable import Gateway

/// Bodies that become commands for the scheduler, validated without a gateway.
struct ScheduleBodyTests {
    private let fixture = {
        var fixture = DeciderFixture(privateType: true)
        fixture.app.allowsUnprovenSchedules = true
        return fixture
    }()
    private let decider = ScheduleDecider(lanes: 4)

    /// The example of Teak's documentation.
    private static let teak = #"""
        {"user":"jane","activity":"chest_timer","offset":60,
         "customData":{"remaining":0,"status":"ready"},"systemData":{"event":"update"}}
        """#

    /// Returns the command that a decision sends to the scheduler.
    private func command(of decision: RequestDecision) throws -> ScheduleCommand {
        guard case .askStage(let request) = decision else { throw DeciderFixture.NotStored() }
        let record = request.records(replyTo: nil).last
        let command = try ScheduleCommand.decode(record?.value ?? [], with: JSONReader())
        #expect(command.key == record?.key && record?.destination == .schedules)
        return command
    }

    private func schedule(
        _ body: String, headers: HTTPHeaders = [:], as role: APIKey.Role = .send
    ) throws -> Schedule {
        let command = try command(of: decider.schedule(in: fixture.context(body, headers: headers, as: role)))
        guard case .schedule(let schedule) = command.action else { throw DeciderFixture.NotStored() }
        return schedule
    }

    /// Returns the problems of a decision, each as `field code`. A problem of the whole request has an empty field.
    private func problems(ofDeciding decide: () throws -> RequestDecision) -> [String] {
        do {
            _ = try command(of: decide())
            return []
        } catch let error as RefusedRequest {
            return error.problems.map { "\($0.field) \($0.code)" }
        } catch {
            return ["\(error)"]
        }
    }

    private func problems(inSchedule body: String) -> [String] {
        problems { try decider.schedule(in: fixture.context(body)) }
    }

    @Test func `the message about an unknown event names only the events that a schedule can have`() {
        let body = #"{"user":"j","activity":"a","offset":1,"customData":{},"systemData":{"event":"stop"}}"#
        let refusal = #expect(throws: RefusedRequest.self) {
            try decider.schedule(in: fixture.context(body))
        }
        #expect(
            refusal?.problems.map(\.description)
                == [#"systemData.event must be one of "update", "end""#])
    }

    @Test func `Teak's example becomes a command of its user for the user's own activity`() throws {
        let command = try command(of: decider.schedule(in: fixture.context(Self.teak)))
        #expect(command.owner == .recipient(.user("jane")) && command.app == "shop")
        let schedule = try schedule(Self.teak)
        #expect(schedule.activity == "chest_timer" && schedule.dueTime == .offset(60_000))
        #expect(
            schedule.latenessMillisecondsMax == Schedule.latenessMillisecondsDefault
                && schedule.idempotency == nil)
        let send = schedule.send
        #expect(schedule.id == send.id && schedule.name == nil)
        #expect(send.scopeKey == ScopeKey(app: "shop", group: "chest_timer", recipient: .user("jane")))
        #expect(
            send.audience == .users(["jane"]) && send.content.event == .update && send.priority == .immediate)
        #expect(
            send.content.contentState.map { String(decoding: $0.bytes, as: UTF8.self) }
                == #"{"remaining":0,"status":"ready"}"#)
        #expect(send.scheduledAt == nil, "only the cluster's stamp sets it")
    }

    @Test func `Teak's system data map to Apple's fields`() throws {
        let schedule = try schedule(
            #"""
            {"user":"jane","activity":"a","at":1795208400,"id":"s-1","name":"chest","latenessMax":30,
             "systemData":{"event":"end","dismissal-date":1795212000}}
            """#)
        #expect(schedule.dueTime == .at(1_795_208_400_000) && schedule.latenessMillisecondsMax == 30_000)
        #expect(schedule.id == "s-1" && schedule.name == "chest" && schedule.send.id.hasPrefix("t-"))
        #expect(schedule.send.content.event == .end)
        #expect(schedule.send.content.dismissalDate == 1_795_212_000)
        let stale = try self.schedule(
            #"{"user":"j","activity":"a","offset":0.25,"customData":{},"systemData":{"stale-date":"2026-11-20T21:00:00Z"}}"#
        )
        #expect(stale.dueTime == .offset(250) && stale.send.content.staleDate == 1_795_208_400)
        #expect(stale.send.content.event == .update)
    }

    @Test(arguments: [
        (#"{}"#, ["user missing", "activity missing", "offset missing", "customData required"]),
        (#"{"user":"","activity":"a","offset":1,"customData":{}}"#, ["user invalid"]),
        (#"{"user":"j","activity":"a","offset":-1,"customData":{}}"#, ["offset out_of_range"]),
        (#"{"user":"j","activity":"a","offset":31622401,"customData":{}}"#, ["offset out_of_range"]),
        (#"{"user":"j","activity":"a","offset":"60","customData":{}}"#, ["offset wrong_type"]),
        (#"{"user":"j","activity":"a","at":1795204799,"customData":{}}"#, ["at out_of_range"]),
        (#"{"user":"j","activity":"a","at":1795208400000,"customData":{}}"#, ["at out_of_range"]),
        (#"{"user":"j","activity":"a","at":1795208400,"offset":1,"customData":{}}"#, ["at invalid"]),
        (#"{"user":"j","activity":"a","offset":1}"#, ["customData required"]),
        (#"{"user":"j","activity":"a","offset":1,"customData":7}"#, ["customData not_an_object"]),
        (#"{"user":"j","activity":"a","offset":1,"customData":{},"when":"now"}"#, ["when unknown_field"]),
        (
            #"{"user":"j","activity":"a","offset":1,"customData":{},"systemData":{"event":"start"}}"#,
            ["systemData.event invalid"]
        ),
        (
            #"{"user":"j","activity":"a","offset":1,"customData":{},"systemData":{"stale":1}}"#,
            ["systemData.stale unknown_field"]
        ),
        (
            #"{"user":"j","activity":"a","offset":1,"customData":{},"systemData":{"dismissal-date":1795212000}}"#,
            ["systemData.dismissal-date not_allowed"]
        ),
        (
            #"{"user":"j","activity":"a","offset":1,"customData":{},"latenessMax":0}"#,
            ["latenessMax out_of_range"]
        ),
        (
            #"{"user":"j","activity":"a","offset":1,"customData":{},"attributesType":"Nothing"}"#,
            ["attributesType type_unknown"]
        ),
    ])
    func `all problems of a schedule are reported`(_ body: String, _ expected: [String]) {
        #expect(problems(inSchedule: body).sorted() == expected.sorted())
    }

    @Test(arguments: [
        (#"{"offset":60}"#, Schedule.DueTime.offset(60_000)), (#"{"offset":0.5}"#, .offset(500)),
        ("1795208400", .at(1_795_208_400_000)), (#""2026-11-20T21:00:00Z""#, .at(1_795_208_400_000)),
    ])
    func `a send for later is owned by its group or by its one user`(
        _ when: String, _ expected: Schedule.DueTime
    ) throws {
        func command(forUpdateWith changes: [String: String?]) throws -> ScheduleCommand {
            let changes = changes.merging(["when": when]) { $1 }
            return try self.command(of: DeciderFixture.own.decide(in: fixture.context(updateBody(changes))))
        }
        let groupCommand = try command(forUpdateWith: ["attributesType": #""Match""#])
        #expect(groupCommand.owner == .group("m1"))
        guard case .schedule(let schedule) = groupCommand.action else { throw DeciderFixture.NotStored() }
        #expect(schedule.dueTime == expected && schedule.activity == "m1" && schedule.id == schedule.send.id)
        let userCommand = try command(forUpdateWith: [
            "attributesType": #""Match""#, "audience": #"{"users":["jane"]}"#,
        ])
        #expect(userCommand.owner == .recipient(.user("jane")))
        let id = try #require(SendID(schedule.send.id, lanes: 4))
        #expect(id.timersPartition != nil && id.acceptedAt == DeciderFixture.now.milliseconds)
    }

    @Test func `a send for later is validated for its due time`() {
        func problems(_ body: String) -> [String] {
            self.problems { try DeciderFixture.own.decide(in: fixture.context(body)) }
        }
        let later = #"{"offset":36000}"#
        let type = #""Match""#
        // A date 90 minutes from now has passed at the due time. A deadline 30 hours from now is 20 hours
        // after it.
        #expect(
            problems(updateBody(["attributesType": type, "when": later, "deadline": #"{"offset":5400}"#]))
                == ["deadline date_passed"])
        #expect(
            problems(updateBody(["attributesType": type, "when": later, "deadline": #"{"offset":108000}"#]))
                == [])
        #expect(
            problems(updateBody(["attributesType": type, "when": later, "deadline": #"{"offset":108001}"#]))
                == ["deadline out_of_range"])
        #expect(
            problems(updateBody(["attributesType": type, "latenessMax": "5"])) == ["latenessMax invalid"])
        #expect(problems(updateBody(["attributesType": type, "when": "true"])) == ["when wrong_type"])
        #expect(problems(updateBody(["attributesType": type, "when": #""never""#])) == ["when invalid"])
    }

    @Test func `a send for later must fit into one timer record`() {
        let names = (0..<6000).map { "\"\($0)\(String(repeating: "x", count: 150))\"" }.joined(separator: ",")
        let body = updateBody([
            "attributesType": #""Match""#, "when": #"{"offset":1}"#, "audience": "{\"users\":[\(names)]}",
        ])
        #expect(
            problems { try DeciderFixture.own.decide(in: fixture.context(body)) } == [
                "contentState too_large"
            ])
    }

    @Test func `a phone may schedule if its app requires proofs or allows schedules without them`() throws {
        let secret = UserProofSettings.Secret(createdAt: 0, sealed: "s")
        let cases: [(proof: UserProofSettings?, isAllowed: Bool, expected: [String])] = [
            (nil, false, [" schedules_need_proof"]), (nil, true, []),
            (.init(requirement: .optional, secrets: [secret]), false, [" schedules_need_proof"]),
            (.init(requirement: .optional, secrets: [secret]), true, []),
            // Without a secret no proof can be checked.
            (.init(requirement: .any, secrets: []), false, [" schedules_need_proof"]),
        ]
        for (proof, isAllowed, expected) in cases {
            var fixture = fixture
            (fixture.app.userProof, fixture.app.allowsUnprovenSchedules) = (proof, isAllowed)
            let query = [(name: "user", value: "jane"), (name: "activity", value: "a")]
            let cancel = fixture.context("", query: query, as: .report)
            #expect(
                problems { try decider.schedule(in: fixture.context(Self.teak, as: .report)) } == expected)
            #expect(problems { try decider.cancel(in: cancel) } == expected)
            for role in [APIKey.Role.send, .admin] {
                #expect(problems { try decider.schedule(in: fixture.context(Self.teak, as: role)) } == [])
            }
        }
        var fixture = fixture
        fixture.app.userProof = .init(requirement: .any, secrets: [secret])
        let body = fixture.context(Self.teak, as: .report)
        #expect(problems { try decider.schedule(in: body) } == ["userProof user_proof_missing"])
    }

    @Test func `the refusal of a phone's schedule says what to do`() throws {
        var fixture = fixture
        fixture.app.allowsUnprovenSchedules = false
        let refusal = try #require(throws: RefusedRequest.self) {
            try decider.schedule(in: fixture.context(Self.teak, as: .report))
        }
        #expect(refusal.response.status == 403)
        let body = String(decoding: refusal.response.body, as: UTF8.self)
        for remedy in [
            "flotilla apps user-proof shop --require yes", "a key of the role send",
            "flotilla apps update shop --unproven-schedules yes",
        ] {
            #expect(body.contains(remedy), "\(body)")
        }
    }

    @Test func `a command names the key and the address of its caller`() throws {
        let query = [(name: "user", value: "jane"), (name: "activity", value: "a")]
        for command in try [
            command(of: decider.schedule(in: fixture.context(Self.teak, as: .report))),
            command(of: decider.cancel(in: fixture.context("", query: query, as: .report))),
        ] {
            #expect(command.author == "key" && command.address == "127.0.0.1")
        }
    }

    @Test func `an idempotency key determines both ids, and a phone's schedule has no audit record`() throws {
        let first = try schedule(Self.teak, headers: ["Idempotency-Key": "k"])
        let repeated = try schedule(Self.teak, headers: ["Idempotency-Key": "k"])
        #expect(first == repeated && first.id.hasPrefix("d-") && first.idempotency?.key == "k")
        #expect(try schedule(Self.teak, headers: ["Idempotency-Key": "l"]).id != first.id)
        for (role, count) in [(APIKey.Role.send, 2), (.report, 1)] {
            guard
                case .askStage(let request) = try decider.schedule(
                    in: fixture.context(Self.teak, as: role))
            else {
                throw DeciderFixture.NotStored()
            }
            #expect(request.records(replyTo: nil).count == count)
        }
    }

    @Test func `a dry run for later has its own ids and no audit record`() throws {
        func decide(_ changes: [String: String?]) throws -> (schedule: Schedule, recordCount: Int) {
            let body = updateBody(changes.merging(["when": #"{"offset":60}"#]) { _, when in when })
            let context = fixture.context(body, headers: ["Idempotency-Key": "k"])
            let decision = try DeciderFixture.own.decide(in: context)
            guard case .schedule(let schedule) = try command(of: decision).action,
                case .askStage(let request) = decision
            else { throw DeciderFixture.NotStored() }
            return (schedule, request.records(replyTo: nil).count)
        }
        let real = try decide([:])
        let dry = try decide(["dryRun": "true"])
        #expect(dry.schedule.send.isDryRun && !real.schedule.send.isDryRun)
        #expect(real.recordCount == 2, "the command and its audit record")
        #expect(dry.recordCount == 1, "the command alone")
        #expect(dry.schedule.send.id != real.schedule.send.id && dry.schedule.id != real.schedule.id)
        // The scheduler compares requests with one key, and would refuse the other one as a conflict.
        #expect(dry.schedule.idempotency?.key != real.schedule.idempotency?.key)
        #expect(try decide(["dryRun": "true"]).schedule == dry.schedule, "a repeated dry run is one request")
    }

    @Test func `a cancel and a list name the owner of the timers, and a phone's key only its user`() throws {
        func cancel(_ query: [(name: String, value: String)], as role: APIKey.Role = .send) throws
            -> ScheduleCommand
        {
            try command(of: decider.cancel(in: fixture.context("", query: query, as: role)))
        }
        let activity = try cancel([("user", "jane"), ("activity", "chest")])
        #expect(activity.owner == .recipient(.user("jane")) && activity.action == .cancel(.activity("chest")))
        let one = try cancel([("user", "jane"), ("id", "s-1")], as: .report)
        #expect(one.action == .cancel(.id("s-1")))
        let group = try cancel([("group", "m1")])
        #expect(group.owner == .group("m1") && group.action == .cancel(.activity("m1")))
        let refusals: [([(name: String, value: String)], APIKey.Role, [String])] = [
            ([], .send, ["user missing"]), ([("user", "j")], .send, ["activity missing"]),
            ([("user", "j"), ("group", "g"), ("id", "i")], .send, ["group conflict"]),
            ([("user", "j"), ("activity", "a"), ("id", "i")], .send, ["id conflict"]),
            ([("group", "g")], .report, ["group not_allowed"]),
            ([("user", "j"), ("activity", "a"), ("activity", "b")], .send, ["activity duplicate_key"]),
            ([("user", "j"), ("activity", "a"), ("all", "")], .send, ["all unknown_field"]),
            ([("user", ""), ("activity", "a")], .send, ["user invalid"]),
        ]
        for (query, role, expected) in refusals {
            let reported = problems { try decider.cancel(in: fixture.context("", query: query, as: role)) }
            #expect(reported.sorted() == expected.sorted(), "\(query)")
        }
        #expect(
            problems { try decider.cancel(in: fixture.context("{}", query: [("user", "j"), ("id", "i")])) }
                == [" invalid"])
        let list = try command(
            of: decider.list(in: fixture.context("", query: [("user", "jane")], as: .read)))
        #expect(list.action == .list(ScheduleCommand.listedTimersMax))
    }
}
