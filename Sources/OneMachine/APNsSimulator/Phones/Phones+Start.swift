internal import CatalogRecords
internal import Identifiers
internal import Payloads

/// The effect of a push to a start token: it starts an activity, unless the phone refuses it. Each refusal is
/// silent: the phone shows nothing, although APNs answered 200. Times are milliseconds since 1970.
extension Phones {
    /// Starts an activity, or returns the reason why the phone shows nothing.
    func applyStart(_ push: AcceptedPush, identity: PhoneTokens.Identity, at time: Int64) -> PushEffect {
        let number = identity.phone
        let phone = phones[number]
        let app = apps[Int(phone.app)]
        guard identity.index < startTokenCount(of: app),
            startTokens[Int(phone.firstStartToken) + identity.index].generation == identity.generation
        else { return .deadToken }
        let payload = push.payload
        guard let event = payload.event else { return .unknownEvent }
        guard event == .start else { return .wrongEventForToken }
        guard let typeIndex = typeIndex(named: payload.attributesType, app: app, slot: identity.index) else {
            return payload.attributesType == nil ? .attributesMissing : .attributesTypeUnknown
        }
        if phone.system < .pushToStart { return .systemTooOld }
        if phone.traits.contains(.switchedOff) { return .switchedOff }
        if let refusal = refusal(
            of: payload, app: app, typeNumber: typeNumber(app: phone.app, type: typeIndex),
            typeIndex: typeIndex)
        {
            return refusal
        }
        if payload.channel != nil, phone.system < .broadcastChannels { return .systemHasNoChannels }
        if !makeRoom(onPhone: number, at: time) { return .tooManyActivities }
        let hasBudget =
            settings.startBudget?.takePush(spentUntil: &phones[number].startsSpentUntil, at: time) ?? true
        guard hasBudget else { return .startBudgetSpent }
        createActivity(from: payload, type: typeIndex, onPhone: number, at: time)
        rotateStartTokenAfterUse(identity, at: time)
        return .started
    }

    /// Returns the index of the type, or nil if the start token in this slot does not start it.
    private func typeIndex(named name: String?, app: PhoneApp, slot: Int) -> UInt16? {
        guard let name else { return nil }
        if !app.hasOneStartToken { return app.types[slot].name == name ? UInt16(slot) : nil }
        return app.types.firstIndex { $0.name == name }.map { UInt16($0) }
    }

    /// Returns a refusal if a part of the payload is missing or cannot be decoded.
    private func refusal(
        of payload: PushPayload, app: PhoneApp, typeNumber: Int, typeIndex: UInt16
    ) -> PushEffect? {
        guard let content = payload.contentState else { return .contentStateMissing }
        guard let attributes = payload.attributes else { return .attributesMissing }
        if payload.timestamp == nil { return .timestampMissing }
        if !payload.hasAlert { return .alertMissing }
        let type = app.types[Int(typeIndex)]
        if !decoder.decodesAttributes(attributes, of: type, typeNumber: typeNumber) {
            return .attributesNotDecoded
        }
        return decoder.decodes(content, as: type, typeNumber: typeNumber) ? nil : .contentStateNotDecoded
    }

    /// Removes the oldest ended activities, so that one more can end without exceeding their limit. Returns whether
    /// one more activity may run.
    private func makeRoom(onPhone number: Int, at time: Int64) -> Bool {
        var runningCount = 0
        var endedCount = 0
        for index in activityIndices(ofPhone: number) {
            advance(activity: index, to: time)
            if activities[index].isRunning { runningCount += 1 }
            guard activities[index].state == .ended else { continue }
            endedCount += 1
            if endedCount >= settings.endedActivitiesMax { remove(activity: index, at: time) }
        }
        return runningCount < settings.runningActivitiesMax
    }

    /// Creates an activity, started by a push or by the app itself.
    func createActivity(from payload: PushPayload, type: UInt16, onPhone number: Int, at time: Int64) {
        let index = takeFreeSlot()
        let occurrence = UInt64(phones[number].startCount)
        phones[number].startCount &+= 1
        let app = phones[number].app
        var activity = PhoneActivity()
        activity.state = .active
        activity.slotGeneration = activities[index].slotGeneration &+ 1
        activity.type = type
        activity.phone = Int32(number)
        activity.nextIndex = phones[number].newestActivity
        phones[number].newestActivity = Int32(index)
        if let content = payload.contentState { activity.content = contents.retain(content) }
        activity.group = retainGroup(of: payload, app: app, type: type)
        activity.timestamp = payload.timestamp ?? time / 1_000
        activity.startedAt = time
        activity.changedAt = time
        activity.staleAt = payload.staleDate.map(milliseconds(fromSeconds:)) ?? .max
        // An activity either listens to a channel or gets an update token.
        if let channel = payload.channel {
            activity.channel = channels.addListener(
                activity: index, slotGeneration: activity.slotGeneration,
                to: .init(id: channel, environment: environment(of: phones[number]), app: app),
                channelsMax: settings.channelsMax)
        } else {
            activity.tokenIssuedAt = updateTokenTime(ofPhone: number, occurrence: occurrence, startedAt: time)
        }
        activities[index] = activity
        schedule(activity: index)
        deliverStoredMessage(toActivity: index, at: time)
    }

    /// Retains the group that the attributes of a start name. Returns its number, or -1 if they name none.
    private func retainGroup(of payload: PushPayload, app: UInt16, type: UInt16) -> Int32 {
        guard let attributes = payload.attributes else { return -1 }
        let group = decoder.group(
            in: attributes, of: apps[Int(app)].types[Int(type)],
            typeNumber: typeNumber(app: app, type: type))
        return group.map { groups.retain($0) } ?? -1
    }

    /// Returns the time at which the app gets the update token of a new activity. `.max` for the share of
    /// starts that produce no token.
    private func updateTokenTime(ofPhone number: Int, occurrence: UInt64, startedAt time: Int64) -> Int64 {
        let hasToken = stableRandom.happens(
            withProbability: settings.updateTokenShare, for: .updateToken, ofPhone: number,
            occurrence: occurrence)
        guard hasToken else { return .max }
        let range = settings.updateTokenMilliseconds
        let share = stableRandom.fraction(for: .updateTokenDelay, ofPhone: number, occurrence: occurrence)
        return time + range.lowerBound + Int64(share * Double(range.upperBound - range.lowerBound))
    }

    /// Returns the index of a free slot. Appends a slot if all are in use.
    private func takeFreeSlot() -> Int {
        if firstFreeSlot >= 0 {
            let index = Int(firstFreeSlot)
            firstFreeSlot = activities[index].nextIndex
            return index
        }
        activities.append(PhoneActivity())
        return activities.count - 1
    }

    /// Replaces the start token after some of its uses, as users have observed.
    private func rotateStartTokenAfterUse(_ identity: PhoneTokens.Identity, at time: Int64) {
        let rotates = stableRandom.happens(
            withProbability: settings.startTokenRotationShare, for: .startTokenRotation,
            ofPhone: identity.phone, occurrence: UInt64(phones[identity.phone].startCount))
        if rotates { rotateStartToken(slot: identity.index, ofPhone: identity.phone, at: time) }
    }
}
