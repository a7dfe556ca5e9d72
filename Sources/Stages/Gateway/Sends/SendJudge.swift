internal import Catalog
internal import JSON
internal import LiveActivity
internal import Telemetry

/// A check that turns a draft into a send or reports every problem of the draft. It does no I/O.
///
/// The judge resolves everything that depends on the catalog, so that later stages can act on the send
/// without it.
struct SendJudge {
    /// The largest distance of an activity's end date from now. One activity lives for eight hours, but a
    /// group may outlive several activities.
    static let endDateSecondsMax: Int64 = 30 * 86_400
    /// The largest distance of a deadline from now. Jobs are kept for a day, so a later deadline cannot be
    /// honored.
    static let deadlineSecondsMax: Int64 = 20 * 3600

    let app: App
    let catalog: KnownCatalog
    let now: WallTime
    let fields: SendFields

    struct Judged {
        var send: Send
        let key: GroupKey
        /// The size of the APNs payload.
        let bytes: Int
        let warnings: [RequestProblem]
    }

    /// Returns the send, or throws every problem of the draft.
    ///
    /// - Parameter read: The problems that were found while the draft was read. If one of them concerns a
    ///   field, no other problem of that field is reported.
    func judge(_ draft: SendDraft, afterReading read: [RequestProblem]) throws(RefusedRequest) -> Judged {
        // If the draft names something unknown, its content is not known either and cannot be checked.
        if draft.problems.contains(where: \.isUnknown) { throw RefusedRequest(read + draft.problems) }
        var check = Check(judge: self, draft: draft, read: read)
        let type = check.type()
        let owner = check.owner(type)
        let send = check.send(type, owner)
        check.segments()
        check.dates()
        let bytes = check.payload(type)
        guard check.found.isEmpty, let send, let key = send.groupKey else {
            // A send without a key has a problem, so this fallback only keeps the error non-empty.
            throw RefusedRequest(
                check.found.isEmpty ? [RequestProblem("invalid", at: "", "names no group")] : check.found)
        }
        return Judged(send: send, key: key, bytes: bytes, warnings: check.warnings(type))
    }
}

private struct Check {
    let judge: SendJudge
    let draft: SendDraft
    var found: [RequestProblem]
    private let spoken: [String]
    private var fields: SendFields { judge.fields }
    /// The time at which the send is delivered, in seconds. Dates are compared with it.
    private var due: Int64 { (draft.time?.due(now: judge.now) ?? judge.now).seconds }
    private var event: PushEvent { draft.content.event }

    init(judge: SendJudge, draft: SendDraft, read: [RequestProblem]) {
        self.judge = judge
        self.draft = draft
        found = read + draft.problems
        spoken = read.map(\.field)
    }

    private mutating func add(_ code: String, at field: String, _ message: String, isUnknown: Bool = false) {
        // The field already has a reading problem. The placeholder in its place must not cause a second one.
        if spoken.contains(where: { $0.isPath(within: field) || field.isPath(within: $0) }) { return }
        found.append(RequestProblem(code, at: field, message, isUnknown: isUnknown))
    }

    // MARK: Catalog lookups

    /// Returns the activity type whose rules apply to the content. Returns nil if an update names no type and
    /// the app has several. Then the planner checks the content, because it knows the group's type.
    mutating func type() -> ActivityType? {
        guard let name = draft.attributesType else {
            return event != .start && judge.app.types.count == 1 ? judge.app.types[0] : nil
        }
        if let type = judge.app.types.first(where: { $0.name.isExactly(name) }) { return type }
        add(
            "type_unknown", at: fields.attributesType,
            "is not an activity type of the app; create it with PUT /v1/activity-types/\(name) or `flotilla types put` first",
            isUnknown: true)
        return nil
    }

    /// Returns the owner if the group is private.
    mutating func owner(_ type: ActivityType?) -> Recipient? {
        guard isPrivate(type) else { return nil }
        if let given = draft.isPrivate, !given, let field = fields.isPrivate {
            add(
                "conflict", at: field,
                "must be true or be omitted: all groups of this activity type are private"
            )
        }
        guard draft.group != nil else {
            add("missing", at: fields.group, "is missing; a private group needs a name, too")
            return nil
        }
        guard case .users(let users) = draft.audience, users.count == 1 else {
            add(
                "not_one_user", at: fields.audience,
                "must name exactly one user, because the group is private; send one request for each user")
            return nil
        }
        return .user(users[0])
    }

    private mutating func isPrivate(_ type: ActivityType?) -> Bool {
        if draft.isPrivate == true || type?.isPrivate == true { return true }
        guard type == nil, draft.attributesType == nil, draft.isPrivate == nil, event != .start,
            case .users = draft.audience
        else { return false }
        let kinds = Set(judge.app.types.map(\.isPrivate))
        if kinds.count == 2 {
            add(
                "missing", at: fields.attributesType,
                "is missing; the app has private and shared types, and the type decides whether the group is private"
            )
        }
        return kinds == [true]
    }

    mutating func segments() {
        guard case .segments(let names) = draft.audience else { return }
        for (index, name) in names.enumerated()
        where judge.catalog.segment(name, of: judge.app.id) == nil {
            add(
                "segment_unknown", at: "\(fields.segments)[\(index)]",
                "is not a segment of the app; create it with PUT /v1/segments/\(name) first", isUnknown: true)
        }
    }

    // MARK: The send

    mutating func send(_ type: ActivityType?, _ owner: Recipient?) -> Send? {
        if draft.group == nil, event == .start {
            add("missing", at: fields.group, "is missing; updates and the end need it to find the activity")
            return nil
        }
        if draft.group == nil, case .group = draft.audience {
            add(
                "missing", at: fields.group,
                "is missing; name the group, or one activity in \(fields.audience)")
            return nil
        }
        var send = Send(
            id: "", app: judge.app.id, group: draft.group, audience: draft.audience,
            content: content(type), priority: draft.priority, acceptedAt: judge.now.milliseconds)
        send.owner = owner
        send.collapseID = draft.collapseID
        send.endDate = draft.endDate
        send.deadline = draft.deadline
        send.expiration = draft.expiration
        send.conflate = draft.conflate
        send.onUnknownStart = draft.onUnknownStart
        send.restart = draft.restart
        send.dryRun = draft.dryRun
        if let problem = send.problem { add("invalid", at: fields.audience, problem) }
        if let key = send.groupKey, key.bytes.count > GroupKey.bytesMax {
            add(
                "invalid", at: fields.group,
                "makes a key of \(key.bytes.count) bytes with app and user, at most \(GroupKey.bytesMax) are allowed; use shorter names with fewer slashes and percent signs"
            )
        }
        return send
    }

    /// Returns the content to store. A start gets its type and its group attribute.
    private func content(_ type: ActivityType?) -> PushContent {
        var content = draft.content
        guard event == .start else { return content }
        content.attributesType = draft.attributesType
        content.attributes =
            PayloadBuilder.attributes(of: content, groupAttribute(type)) ?? content.attributes
        return content
    }

    private func groupAttribute(_ type: ActivityType?) -> GroupAttribute? {
        guard event == .start, let group = draft.group else { return nil }
        return GroupAttribute(name: type?.groupAttribute ?? GroupAttribute.defaultName, group: group)
    }

    mutating func dates() {
        let now = due
        if let end = draft.endDate {
            if event != .start {
                add("not_allowed", at: fields.endDate, "is allowed on a start only; send an end instead")
            } else {
                checkAhead(end, at: fields.endDate, within: SendJudge.endDateSecondsMax, days: "30 days")
            }
        }
        if let deadline = draft.deadline {
            checkAhead(deadline, at: "deadline", within: SendJudge.deadlineSecondsMax, days: "20 hours")
        }
        if let expiration = draft.expiration, expiration != 0, expiration <= now {
            add("date_passed", at: "expiration", "has passed; give a later time, or 0 for one attempt")
        }
        if let expiration = draft.expiration, expiration > PayloadRules.secondsMax {
            add(
                "not_seconds", at: "expiration",
                "must be in seconds since 1970; this value looks like milliseconds")
        }
        if event != .start {
            if draft.restart { add("not_allowed", at: "restart", "is allowed on a start only; omit it") }
            if draft.onUnknownStart != .skip {
                add("not_allowed", at: "onUnknownStart", "is allowed on a start only; omit it")
            }
        }
        if !draft.conflate, event != .update {
            add(
                "not_allowed", at: "conflate",
                "is allowed on an update only; starts and ends are never conflated")
        }
    }

    private mutating func checkAhead(_ date: Int64, at field: String, within limit: Int64, days: String) {
        let now = due
        if date > PayloadRules.secondsMax {
            add("not_seconds", at: field, "must be in seconds since 1970; this value looks like milliseconds")
        } else if date <= now {
            add("date_passed", at: field, "has passed; give a later time")
        } else if date > now + limit {
            add("out_of_range", at: field, "is more than \(days) ahead")
        }
    }

    // MARK: The payload

    private func rules(_ type: ActivityType?) -> PayloadRules {
        type.map { PayloadRules(now: due, type: $0) } ?? PayloadRules(now: due)
    }

    /// Checks the payload and returns the size of the APNs body in bytes.
    mutating func payload(_ type: ActivityType?) -> Int {
        var content = draft.content
        if event == .start { content.attributesType = draft.attributesType }
        let group = groupAttribute(type)
        for violation in rules(type).violations(in: content, group: group) {
            add(violation.rule.rawValue, at: fields.name(violation.field), violation.message)
        }
        return PayloadBuilder.body(content, timestamp: due, group: group).count
    }

    func warnings(_ type: ActivityType?) -> [RequestProblem] {
        var content = draft.content
        if event == .start { content.attributesType = draft.attributesType }
        return rules(type).warnings(in: content, group: groupAttribute(type)).map {
            RequestProblem($0.rule.rawValue, at: fields.name($0.field), $0.message)
        }
    }
}

extension String {
    /// Whether this path is `path` or lies below it.
    fileprivate func isPath(within path: String) -> Bool {
        guard hasPrefix(path), !path.isEmpty else { return self == path }
        guard let next = utf8.dropFirst(path.utf8.count).first else { return true }
        return next == UInt8(ascii: ".") || next == UInt8(ascii: "[")
    }
}
