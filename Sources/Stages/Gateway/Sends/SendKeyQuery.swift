internal import Identifiers
internal import Kafka
internal import Schedules
internal import Sends
internal import Telemetry

/// The query of a client whose request got no answer: the idempotency key, and the parts of the request from which the
/// send's id follows.
struct SendKeyQuery {
    private let idempotencyKey: String
    private let app: String
    /// The scopes that the send can have.
    private let scopes: [ScopeKey]
    /// The owner of the send's timer, if it is a send for later.
    private let timerOwner: ScheduleOwner
    private let isLater: Bool
    /// The time of acceptance in milliseconds since 1970, if the client knows it.
    let acceptedAt: Int64?

    private static let names: Set<String> = ["groupId", "activityId", "userId", "later", "at"]

    init(
        idempotencyKey: String, parameters: [(name: String, value: String)], app: String
    ) throws(RefusedRequest) {
        var problems: [RequestProblem] = []
        let values = Self.values(of: parameters, problems: &problems)
        problems += Self.problems(of: values)
        guard problems.isEmpty else { throw RefusedRequest(problems) }
        self.idempotencyKey = idempotencyKey
        self.app = app
        isLater = values["later"] == "true"
        acceptedAt = values["at"].flatMap { Int64($0) }
        let user = values["userId"].map { Recipient.user($0) }
        if let group = values["groupId"] {
            let scope = ScopeKey(app: app, group: group)
            // A group can be private to the user. Only the catalog and the request's body say whether it is.
            scopes = [scope] + (user.map { [scope.narrowed(to: $0)] } ?? [])
            timerOwner = user.map { .recipient($0) } ?? .group(group)
        } else {
            let activity = values["activityId"] ?? ""
            scopes = [ScopeKey(app: app, activity: activity)]
            timerOwner = .activity(activity)
        }
    }

    /// Returns the values of the parameters by their names. Adds a problem for each unknown or repeated name.
    private static func values(
        of parameters: [(name: String, value: String)], problems: inout [RequestProblem]
    ) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in parameters {
            if !names.contains(name) {
                problems.append(
                    RequestProblem(
                        code: "unknown_field", at: name, message: "is not a parameter of this call"))
            } else if values.updateValue(value, forKey: name) != nil {
                problems.append(RequestProblem(code: "invalid", at: name, message: "must occur once"))
            }
        }
        return values
    }

    /// Returns the problems of the values.
    private static func problems(of values: [String: String]) -> [RequestProblem] {
        var problems: [RequestProblem] = []
        for name in ["groupId", "activityId", "userId"] {
            guard let problem = values[name].flatMap({ NameRules.problem($0) }) else { continue }
            problems.append(RequestProblem(code: "invalid", at: name, message: problem))
        }
        let hasGroup = values["groupId"] != nil
        let hasActivity = values["activityId"] != nil
        if hasGroup == hasActivity {
            // The message follows the field's name: "groupId or activityId must be given, and not both".
            problems.append(
                RequestProblem(
                    code: "required", at: "groupId", message: "or activityId must be given, and not both"))
        }
        if let later = values["later"], !["true", "false"].contains(later) {
            problems.append(RequestProblem(code: "invalid", at: "later", message: "must be true or false"))
        }
        let time = values["at"].flatMap { Int64($0) }
        let isTimeValid = time.map { SendsEndpoint.acceptanceTimes.contains($0) } ?? false
        if values["at"] != nil, !isTimeValid {
            problems.append(
                RequestProblem(code: "invalid", at: "at", message: "must be milliseconds since 1970"))
        }
        return problems
    }

    /// Returns the ids that the request's send can have.
    func possibleIDs(route: String, lanes: Int) -> [SendID] {
        // An id that is derived from a key depends neither on the fingerprint nor on the time.
        let idempotency = Idempotency(key: idempotencyKey, fingerprint: "")
        let timers = Murmur2.partition(forKey: timerOwner.key(app: app).span, partitionCount: lanes)
        return scopes.map { scope in
            SendID(
                idempotency: idempotency, route: route, scope: scope,
                partition: Murmur2.partition(forKey: scope.bytes.span, partitionCount: lanes),
                timersPartition: isLater ? timers : nil, now: WallTime(milliseconds: 0))
        }
    }
}
