internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

// The reasons to refuse a send that need the planner's rows, so that no gateway can know them.

extension PlanBuilder {
    /// Whether the scope has a newer state than the version that the send's caller has seen (`ifVersion`). A send that
    /// the scope holds is a newer state, although it has no version yet.
    ///
    /// For named users of a shared group, each user's own state counts beside the group's. For named activities, the
    /// newest send to any named activity counts, because only the lanes know the owners.
    func hasNewerState(than send: Send) throws(StoreError) -> Bool {
        guard let seen = send.ifVersion else { return false }
        if row.version > seen || row.heldSend != nil { return true }
        for user in namedUsers(of: send) ?? [] {
            let own = try ownRow(of: .user(user))
            if own.version > seen || own.heldSend != nil { return true }
        }
        if case .activities = send.audience, key.group != nil { return row.laneOnlyVersion > seen }
        return false
    }

    func findings(_ send: Send, in app: App) throws(StoreError) -> [String] {
        if let problem = keyProblem(of: send) { return [problem] }
        if let problem = NamedActivityCopies.problem(of: send.audience, lanes: planner.lanes) {
            return ["audience: \(problem)"]
        }
        let findings =
            send.content.event == .start
            ? try findings(ofStart: send) : findings(ofUpdate: send, in: app)
        return Array(findings.prefix(ProgressRecord.findingsMax))
    }

    /// Returns the problem if the row of a named user has a key that is too long for the planner's view. Only names
    /// with many slashes and percent signs, which are escaped, can be too long together.
    private func keyProblem(of send: Send) -> String? {
        for user in namedUsers(of: send) ?? [] {
            let bytes = key.narrowed(to: .user(user)).bytes.count
            if bytes > EnvironmentLimits.keyBytesMax {
                return
                    "users: group and user make a key of \(bytes) bytes, and the limit is \(EnvironmentLimits.keyBytesMax); give shorter names"
            }
        }
        return nil
    }

    /// Checks an update against the activity type with which the group was started. An app with several types need not
    /// name the type in an update.
    private func findings(ofUpdate send: Send, in app: App) -> [String] {
        guard let type = row.attributesType else { return [] }
        return PayloadRules(now: now, type: app.activityType(named: type))
            .violations(in: send.content, attributesBytes: row.attributesBytes).map(\.description)
    }

    /// Checks a start that joins an open generation. Its phones get the newest state of the group, so that state must
    /// fit into the start.
    private func findings(ofStart send: Send) throws(StoreError) -> [String] {
        guard ScopePhase(row).action(of: .start) == .joinGeneration else { return [] }
        if let type = row.attributesType, let own = send.content.attributesType, own != type {
            return [
                "attributes-type is \(own), but the group was started with \(type), and this start would get that type's state; end the group first, or start another group"
            ]
        }
        // The gateway has checked everything else, with the state of the request.
        return PayloadRules(now: now).violations(in: try contentOfJoiningStart(send))
            .filter { $0.rule == .tooLarge }
            .map {
                "\($0.description); it carries the newest state of the group, so shorten the attributes or the alert, or send a shorter update first"
            }
    }

    /// Returns the content of a start with the newest state, as its phones get it.
    private func contentOfJoiningStart(_ send: Send) throws(StoreError) -> PushContent {
        var content = send.content
        if let newest = row.newestState, !row.cancelledSends.contains(originOf: newest) {
            content.replaceState(with: newest)
        }
        if let single = singleUser(of: send), let state = try ownRow(of: single).ownState(within: row) {
            content.replaceState(with: state)
        }
        return content
    }

    /// Returns findings about parts of a planned send to named users that have no effect.
    func findings(ofPlanned start: Send) -> [String] {
        guard let endDate = start.endDate, endDate != row.endDate else { return [] }
        let end = row.endDate.map { "at \($0)" } ?? "with its next END"
        return [
            "end-date is ignored: named users join the group, and the group ends for all members \(end)"
        ]
    }
}
