import APNs
import CatalogRecords
import ContentSchemas
import Identifiers
import InstallationRecords
import JSON
import Payloads
import Testing

@testable import APNsSimulator

/// Collects the reports of phones, up to its capacity. The phones send at most 1,000 at a time.
final class CollectedReports: ReportSink {
    var freeCapacity = 1_000_000
    var reports: [Report] = []

    func accept(_ reports: [Report]) {
        #expect(reports.count <= freeCapacity && reports.count <= 1_000)
        self.reports += reports
        freeCapacity -= reports.count
    }

    func stop() {}
    var counts: ReportCounts { ReportCounts(accepted: reports.count) }
    var lastProblem: String? { nil }

    func reports(of kind: Report.Kind) -> [Report] { reports.filter { $0.kind == kind } }
}

/// Returns JSON of a test, which must be valid.
func raw(_ text: String) -> RawJSON {
    do { return try RawJSON(checking: Array(text.utf8), with: JSONReader()) } catch {
        preconditionFailure("the JSON of the test is invalid: \(error)")
    }
}

/// Some phones of one app, a manual clock, and functions that act as APNs.
///
/// Phones are numbered from 0. A test makes a payload (`startPayload`, `updatePayload`, `endPayload`), and `send`
/// delivers it to a token and returns its effect on the phone. The clock counts milliseconds, timestamps in payloads
/// are seconds.
struct PhonesFixture {
    /// 2025-11-20, in seconds since 1970.
    static let begin: Int64 = 1_763_600_000

    let phones: Phones
    let sink = CollectedReports()
    /// Milliseconds since 1970.
    var now = begin * 1_000
    /// Seconds since 1970, as in payloads.
    var nowSeconds: Int64 { now / 1_000 }

    init(
        _ count: Int = 3, settings change: (inout PhoneSettings) -> Void = { _ in },
        population: (inout Population) -> Void = { _ in }, types: [String] = ["Match"],
        secondsLater: Int64 = 0
    ) {
        now += secondsLater * 1_000
        var settings = PhoneSettings()
        change(&settings)
        phones = Phones(settings: settings)
        phones.sink = sink
        let app = PhoneApp(id: "shop", bundleID: "com.example.shop", types: types.map(Self.type))
        var phonePopulation = Population(of: app, phones: count)
        phonePopulation.systems = [(OSVersion(18, 1), 1)]
        population(&phonePopulation)
        phones.add(phonePopulation, at: now)
        tick()
    }

    /// An activity type whose content has a score and perhaps a date, and whose attributes have a team.
    static func type(_ name: String) -> ActivityType {
        var type = ActivityType(name: name)
        let reader = JSONReader()
        let contentState = #"{"score":"int","at":"date.reference2001?"}"#
        type.contentStateSchema = try? reader.read(Array(contentState.utf8)) { ContentSchema(from: $0) }
        type.attributesSchema = try? reader.read(Array(#"{"team":"string"}"#.utf8)) {
            ContentSchema(from: $0)
        }
        return type
    }

    /// Lets time pass, and ticks the phones.
    mutating func pass(seconds: Double) {
        now += Int64(seconds * 1_000)
        tick()
    }

    func tick() { phones.tick(at: now) }

    func startPayload(
        score: Int = 0, group: String? = "m1", at timestamp: Int64? = nil, type: String = "Match"
    ) -> PushPayload {
        var payload = PushPayload()
        payload.event = .start
        payload.timestamp = timestamp ?? nowSeconds
        payload.contentState = raw("{\"score\":\(score)}")
        payload.attributesType = type
        let groupMember = group.map { #","netmeraGroupId":"\#($0)""# } ?? ""
        payload.attributes = raw(#"{"team":"A"\#(groupMember)}"#)
        payload.hasAlert = true
        return payload
    }

    func updatePayload(_ score: Int, at timestamp: Int64? = nil) -> PushPayload {
        var payload = PushPayload()
        payload.event = .update
        payload.timestamp = timestamp ?? nowSeconds
        payload.contentState = raw("{\"score\":\(score)}")
        return payload
    }

    func endPayload(at timestamp: Int64? = nil, dismissal: Int64? = nil) -> PushPayload {
        var payload = PushPayload()
        payload.event = .end
        payload.timestamp = timestamp ?? nowSeconds
        payload.dismissalDate = dismissal
        return payload
    }

    /// Delivers a payload to a token. Returns its effect, or nil if no phone has the token.
    @discardableResult
    func send(
        _ payload: PushPayload, to token: PushToken, priority: Int = 10, expiration: Int64? = nil
    ) -> PushEffect? {
        phones.deliver(push(payload, .token(token), priority: priority, expiration: expiration))
        guard let number = phones.tokens.identity(of: token)?.phone else { return nil }
        return phones.screen(ofPhone: number, at: now).receivedPushes.first?.effect
    }

    /// A push as APNs has accepted it.
    func push(
        _ payload: PushPayload, _ target: AcceptedPush.Target, priority: Int = 10, expiration: Int64? = nil,
        isStored: Bool = false
    ) -> AcceptedPush {
        AcceptedPush(
            id: PushID(high: 0, low: 0), target: target, environment: .production,
            bundleID: "com.example.shop", priority: priority,
            expiration: expiration, isStored: isStored, payload: payload, receivedAt: now)
    }

    /// The status by which APNs accepts or refuses a push to the token.
    func status(of token: PushToken) -> TokenStatus {
        phones.status(of: token, environment: .production, bundleID: "com.example.shop", at: now)
    }

    /// A phone's start token. An app with a token for each activity type has a slot for each.
    func startToken(_ number: Int, slot: Int = 0) -> PushToken {
        phones.startToken(slot: slot, ofPhone: number)
    }

    /// Starts an activity, waits until its update token was reported, and returns the token.
    @discardableResult
    mutating func startActivity(
        onPhone number: Int = 0, score: Int = 0, group: String? = "m1", channel: String? = nil
    ) -> PushToken {
        var payload = startPayload(score: score, group: group)
        payload.channel = channel
        #expect(send(payload, to: startToken(number)) == .started)
        pass(seconds: 3)
        return phones.updateToken(ofActivity: phones.activityIndices(ofPhone: number)[0])
    }

    /// The newest activity on a phone's screen.
    func activity(_ number: Int = 0) -> PhoneScreen.Activity? { screen(ofPhone: number).activities.first }
    func screen(ofPhone number: Int = 0) -> PhoneScreen { phones.screen(ofPhone: number, at: now) }
}

extension PhoneScreen.Activity {
    /// The content state as JSON.
    var text: String? { contentState.map { String(decoding: $0.bytes, as: UTF8.self) } }
}
