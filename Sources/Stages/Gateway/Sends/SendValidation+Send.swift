internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Sends
internal import Telemetry

extension SendValidation {
    /// Makes the send from the draft. Returns nil, with a problem, if the draft names no group and needs one.
    ///
    /// - Parameter owner: The user who owns the group, if it is private.
    mutating func makeSend(type: ActivityType?, owner: Recipient?) -> Send? {
        let hasNeededGroup = checkGroup()
        guard hasNeededGroup else { return nil }
        var send = Send(
            id: "", app: validator.app.id, group: draft.group, audience: draft.audience,
            content: content(for: type), priority: draft.priority, acceptedAt: validator.now.milliseconds)
        send.owner = owner
        send.collapseID = draft.collapseID
        send.endDate = draft.endDate
        send.deadline = draft.deadline
        send.expiration = draft.expiration
        send.isConflatable = draft.isConflatable
        send.unknownStartPolicy = draft.unknownStartPolicy
        send.forcesRestart = draft.forcesRestart
        send.isDryRun = draft.isDryRun
        send.ifVersion = draft.ifVersion
        checkSend(send)
        return send
    }

    /// Returns false, with a problem, if the draft names no group and needs one.
    private mutating func checkGroup() -> Bool {
        guard draft.group == nil else { return true }
        if event == .start {
            add(
                code: "missing", at: fields.group,
                message: "is missing; updates and the end need it to find the activity")
            return false
        }
        if case .group = draft.audience {
            add(
                code: "missing", at: fields.group,
                message: "is missing; name the group, or one activity in \(fields.audience)")
            return false
        }
        return true
    }

    /// Checks what only the complete send shows: its audience as a whole, and the size of its key.
    private mutating func checkSend(_ send: Send) {
        if let problem = send.problem { add(code: "invalid", at: fields.audience, message: problem) }
        if let problem = NamedActivityCopies.problem(of: send.audience, lanes: validator.lanes) {
            add(code: "out_of_range", at: fields.audience, message: problem)
        }
        if let key = send.scopeKey, key.bytes.count > ScopeKey.bytesMax {
            add(
                code: "invalid", at: fields.group,
                message:
                    "makes a key of \(key.bytes.count) bytes with app and user, at most \(ScopeKey.bytesMax) are allowed; use shorter names with fewer slashes and percent signs"
            )
        }
    }

    /// Returns the content to store. A start gets its type and its group attribute.
    private func content(for type: ActivityType?) -> PushContent {
        var content = draft.content
        guard event == .start else { return content }
        content.attributesType = draft.attributesType
        content.attributes =
            PayloadBuilder.attributes(of: content, group: groupAttribute(for: type)) ?? content.attributes
        return content
    }

    /// The attribute with the group's name, which a start adds to the attributes of the activity.
    func groupAttribute(for type: ActivityType?) -> GroupAttribute? {
        guard event == .start, let group = draft.group else { return nil }
        return GroupAttribute(name: type?.groupAttribute ?? GroupAttribute.defaultName, group: group)
    }
}
