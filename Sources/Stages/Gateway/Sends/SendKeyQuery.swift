internal import Identifiers
internal import Kafka
internal import Schedules
internal import Sends
internal import Telemetry

/// The question of a client whose request got no answer: the idempotency key, and the part of the request that
/// decides about the send's id.
struct SendKeyQuery {
    private let key: String
    private let app: String
    private let scopes: [ScopeKey]
    private let owners: [ScheduleOwner]
    private let isLater: Bool
    /// The time of acceptance in milliseconds since 1970, if the client knows it.
    let acceptedAt: Int64?

    private static let names: Set<String> = ["groupId", "activityId", "userId", "later", "at"]

    init(key: String, parameters: [(name: String, value: String)], app: String) throws(RefusedRequest) {
        var problems: [RequestProblem] = []
        var values: [String: String] = [:]
        for (name, value) in parameters {
            if !Self.names.contains(name) {
                problems.append(
                    RequestProblem(
                        code: "unknown_field", at: name, message: "is not a parameter of this call"))
            } else if values.updateValue(value, forKey: name) != nil {
                problems.append(RequestProblem(code: "invalid", at: name, message: "must occur once"))
            }
        }
        for name in ["groupId", "activityId", "userId"] {
            guard let problem = values[name].flatMap({ NameRules.problem($0) }) else { continue }
            problems.append(RequestProblem(code: "invalid", at: name, message: problem))
        }
        if (values["groupId"] == nil) == (values["activityId"] == nil) {
            problems.append(
                RequestProblem(
                    code: "required", at: "groupId", message: "or activityId must be given, and not both"))
        }
        if let later = values["later"], !["true", "false"].contains(later) {
            problems.append(RequestProblem(code: "invalid", at: "later", message: "must be true or false"))
        }
        let time = values["at"].flatMap { Int64($0) }
        let isTimeValid = time.map { SendsEndpoint.acceptanceTimes.contains($0) } ?? (values["at"] == nil)
        if !isTimeValid {
            problems.append(
                RequestProblem(code: "invalid", at: "at", message: "must be milliseconds since 1970"))
        }
        guard problems.isEmpty else { throw RefusedRequest(problems) }
        self.key = key
        self.app = app
        isLater = values["later"] == "true"
        acceptedAt = time
        let user = values["userId"].map { Recipient.user($0) }
        if let group = values["groupId"] {
            let scope = ScopeKey(app: app, group: group)
            // A group can be private to the user. Only the catalog and the request's body tell.
            scopes = [scope] + (user.map { [scope.narrowed(to: $0)] } ?? [])
            owners = [user.map { .recipient($0) } ?? .group(group)]
        } else {
            let activity = values["activityId"] ?? ""
            scopes = [ScopeKey(app: app, activity: activity)]
            owners = [.activity(activity)]
        }
    }

    /// Returns the ids that the request's send can have.
    func possibleIDs(route: String, lanes: Int) -> [SendID] {
        // The id does not depend on the fingerprint.
        let idempotency = Idempotency(key: key, fingerprint: "")
        return scopes.flatMap { scope in
            owners.map { owner in
                let timers = Murmur2.partition(forKey: owner.key(app: app).span, partitionCount: lanes)
                return SendID(
                    idempotency: idempotency, route: route, scope: scope,
                    partition: Murmur2.partition(forKey: scope.bytes.span, partitionCount: lanes),
                    timersPartition: isLater ? timers : nil, now: WallTime(milliseconds: 0))
            }
        }
    }
}
