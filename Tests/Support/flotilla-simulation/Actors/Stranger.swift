import CatalogRecords
import Gateway
import Identifiers
import Lifecycle
import Simulation
import Topics

/// A stranger with the report key of an app, which is in the app's binary. The stranger reports invented installations
/// and tokens at a high rate, and a gateway decides which of these reports are stored.
final class Stranger {
    private static let addresses = ["93.184.216.34", "93.184.216.35"]
    /// New installations of one address in an hour. It is much lower than the default, so that it is reached.
    private static let newInstallationsMax = 40
    private static let bodyMilliseconds = 100
    private static let reportsPerBody = 10
    /// The invented installations. Some are reported many times.
    private static let inventedMax = 400

    private unowned let world: World
    private unowned let fleet: Fleet
    private let rates: CallerRates
    private var admission: ReportAdmission
    private let callers: [RequestCaller]
    private var random: SeededGenerator
    private var endsAt = Instant(nanoseconds: 0)
    /// The invented installations that each address has added.
    private var added: [Set<Int>]
    private let startedAt: Instant

    init(for fleet: Fleet, in world: World) {
        self.world = world
        self.fleet = fleet
        random = SeededGenerator(seed: world.seed ^ 0x57a6_9e12)
        var limits = GatewayLimits()
        limits.newInstallationsPerPeerAndHourMax = Self.newInstallationsMax
        let rates = CallerRates(limits: limits, now: world.now)
        self.rates = rates
        admission = ReportAdmission(
            validator: ReportValidator(sealingKeys: nil), rates: rates, limits: limits, now: world.now)
        let key = APIKey(id: "report-key", app: fleet.app.id, role: .report, secretHash: [], createdAt: 0)
        let app = fleet.app
        callers = Self.addresses.map { RequestCaller(key: key, app: app, address: $0, peer: $0) }
        added = callers.map { _ in [] }
        startedAt = world.now
    }

    /// Reports for a time.
    func report(forMilliseconds milliseconds: Int) {
        let isReporting = world.now < endsAt
        endsAt = max(endsAt, world.now.advanced(byMilliseconds: milliseconds))
        if !isReporting { continueReporting() }
    }

    private func continueReporting() {
        guard world.now < endsAt else { return }
        post()
        world.schedule(inMilliseconds: Self.bodyMilliseconds) { [unowned self] in continueReporting() }
    }

    /// Sends one body to the gateway, and stores the reports that it accepts.
    private func post() {
        let caller = random.number(below: callers.count)
        let numbers = (0..<Self.reportsPerBody).map { _ in random.number(below: Self.inventedMax) }
        let body = Array("[\(numbers.map(makeReport).joined(separator: ","))]".utf8)
        guard rates.chargeRequest(of: callers[caller], bytes: body.count, at: world.now).exceeded == nil,
            case .checked(let reports) = admission.decide(body, from: callers[caller], at: world.now)
        else { return }
        let refused = Set(reports.refused.map(\.index))
        for (index, number) in numbers.enumerated() where !refused.contains(index) {
            added[caller].insert(number)
        }
        checkQuota(ofCaller: caller)
        for index in 0..<reports.acceptedCount {
            let record = reports.copyRecord(at: index)
            fleet.store(record.value, key: record.key, in: .reports) { _ in }
        }
    }

    /// Writes a report of an invented token: of a start, or of an activity in a real group.
    private func makeReport(of number: Int) -> String {
        let token = String(decoding: Hex.encode(random.bytes(count: 32...32)), as: UTF8.self)
        fleet.inventedTokens.insert(token)
        var fields = #""environment":"production","installationId":"invented-\#(number)""#
        fields += #","attributesType":"Match","token":"\#(token)""#
        // Some of them name a real user.
        if number % 3 == 0 { fields += #","userId":"user-\#(number % 5)""# }
        guard number % 2 == 0 else { return #"{"kind":"startToken",\#(fields)}"# }
        return #"{"kind":"updateToken","activityId":"invented-\#(number)","groupId":"match",\#(fields)}"#
    }

    // MARK: The law

    /// An address adds at most its quota at once, and its quota again in each hour.
    private func checkQuota(ofCaller caller: Int) {
        let milliseconds = world.now.milliseconds(since: startedAt)
        let countMax = Self.newInstallationsMax * (1 + milliseconds / 3_600_000 + 1)
        guard added[caller].count > countMax else { return }
        world.violation =
            world.violation
            ?? Violation(
                .bounds, "\(Self.addresses[caller]) has added \(added[caller].count) installations")
    }
}
