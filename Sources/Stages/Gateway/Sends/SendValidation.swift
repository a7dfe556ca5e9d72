internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Sends
internal import Telemetry

/// One draft while it is checked, with the problems that were found so far. `SendValidator` calls the checks in order, and
/// refuses the draft if a problem is left. Here are the lookups in the catalog. The extensions check dates and options
/// (`+Fields`), check the payload (`+Payload`), and make the send (`+Send`).
struct SendValidation {
    let validator: SendValidator
    let draft: SendDraft
    private(set) var problems: [RequestProblem]
    /// The fields that the JSON reader could not read.
    private let unreadableFields: [String]

    var fields: SendFields { validator.fields }
    var event: PushEvent { draft.content.event }
    /// The approximate time at which the send leaves, in seconds since 1970. Dates are compared with it.
    var dueSeconds: Int64 { (draft.time?.approximateDueTime(now: validator.now) ?? validator.now).seconds }

    init(validator: SendValidator, draft: SendDraft, readingProblems: [RequestProblem]) {
        self.validator = validator
        self.draft = draft
        // `draft.problems` are about values that could be read.
        problems = readingProblems + draft.problems
        unreadableFields = readingProblems.map(\.field)
    }

    /// Adds a problem, unless its field, or a field above or below it, could not be read. Such a field has a placeholder
    /// in the draft, which must not cause a second problem.
    ///
    /// - Parameter isUnknown: Whether the field names something that the catalog does not have. The request may be
    ///   decided again with a newer catalog.
    mutating func add(code: String, at field: String, message: String, isUnknown: Bool = false) {
        let isUnreadable = unreadableFields.contains { $0.isPath(within: field) || field.isPath(within: $0) }
        if isUnreadable { return }
        problems.append(RequestProblem(code: code, at: field, message: message, isUnknown: isUnknown))
    }

    // MARK: Catalog lookups

    /// Returns the activity type whose rules apply to the content. Adds a problem if the catalog does not have the type
    /// that the draft names.
    ///
    /// A draft that names none returns nil, unless it is an update or an END and the app has exactly one type.
    /// `checkPayload` refuses a start without a type. For the others the planner checks the content, because it knows the
    /// group's type.
    mutating func activityType() -> ActivityType? {
        let types = validator.app.activityTypes
        guard let name = draft.attributesType else {
            return event != .start && types.count == 1 ? types[0] : nil
        }
        if let type = types.first(where: { $0.name.isExactlyEqual(to: name) }) { return type }
        add(
            code: "type_unknown", at: fields.attributesType,
            message:
                "is not an activity type of the app; create it with PUT /v1/activity-types/\(name) or `flotilla types put` first",
            isUnknown: true)
        return nil
    }

    /// Returns the user who owns the group if the group is private. Returns nil for a shared group. Adds a problem if a
    /// private group does not name exactly one user.
    mutating func owner(for type: ActivityType?) -> Recipient? {
        let isPrivate = isGroupPrivate(for: type)
        guard isPrivate else { return nil }
        if draft.isPrivate == false, let field = fields.isPrivate {
            add(
                code: "conflict", at: field,
                message: "must be true or be omitted: all groups of this activity type are private"
            )
        }
        guard draft.group != nil else {
            add(code: "missing", at: fields.group, message: "is missing; a private group needs a name, too")
            return nil
        }
        guard case .users(let users) = draft.audience, users.count == 1 else {
            add(
                code: "not_one_user", at: fields.audience,
                message:
                    "must name exactly one user, because the group is private; send one request for each user"
            )
            return nil
        }
        return .user(users[0])
    }

    /// Returns whether the group is private to one user. The call or its activity type makes it private. An update or an
    /// END for users may name no type. Then all types of the app decide, and a problem is added if only some of them are
    /// private.
    private mutating func isGroupPrivate(for type: ActivityType?) -> Bool {
        if draft.isPrivate == true || type?.isPrivate == true { return true }
        let namesNoType = type == nil && draft.attributesType == nil
        guard namesNoType, draft.isPrivate == nil, event != .start, case .users = draft.audience else {
            return false
        }
        let types = validator.app.activityTypes
        guard types.contains(where: \.isPrivate) else { return false }
        if types.allSatisfy(\.isPrivate) { return true }
        add(
            code: "missing", at: fields.attributesType,
            message:
                "is missing; the app has private and shared types, and the type decides whether the group is private"
        )
        return false
    }

    /// Checks that the catalog has the segments of the audience.
    mutating func checkSegments() {
        switch draft.audience {
        case .segments(let names): checkSegments(names, at: fields.segments)
        case .combination(let combination):
            checkSegments(combination.segments, at: fields.segments)
            checkSegments(combination.excludedSegments, at: "\(fields.audience).exclude.segments")
        case .everyone, .tags, .group, .users, .activities: break
        }
    }

    private mutating func checkSegments(_ names: [String], at field: String) {
        for (index, name) in names.enumerated()
        where validator.catalog.segment(named: name, of: validator.app.id) == nil {
            add(
                code: "segment_unknown", at: "\(field)[\(index)]",
                message: "is not a segment of the app; create it with PUT /v1/segments/\(name) first",
                isUnknown: true)
        }
    }
}

extension String {
    /// Whether this path of a field is `path` or lies below it, as `audience.users[0]` lies below `audience`. No other
    /// path lies below the empty path, which names the whole body.
    fileprivate func isPath(within path: String) -> Bool {
        if self == path { return true }
        return !path.isEmpty && (hasPrefix("\(path).") || hasPrefix("\(path)["))
    }
}
