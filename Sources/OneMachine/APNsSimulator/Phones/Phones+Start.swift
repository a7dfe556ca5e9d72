internal import LiveActivity

// Handling of a push to a start token. Each refusal is silent: the phone shows nothing although APNs answered
// 200.

extension Phones {
    func start(_ push: AcceptedPush, _ identity: PhoneTokens.Identity, at time: Int64) -> PushEffect {
        let number = identity.phone
        let phone = phones[number]
        let app = apps[Int(phone.app)]
        guard identity.index < startTokenCount(app),
            startTokens[Int(phone.firstStartToken) + identity.index].generation == identity.generation
        else { return .deadToken }
        let payload = push.payload
        guard let event = payload.event else { return .unknownEvent }
        guard event == .start else { return .wrongEventForToken }
        guard let type = type(named: payload.attributesType, app, identity.index) else {
            return payload.attributesType == nil ? .attributesMissing : .attributesTypeUnknown
        }
        if phone.system < .pushToStart { return .systemTooOld }
        if phone.traits.contains(.switchedOff) { return .switchedOff }
        if let fault = fault(in: payload, app: app, typeNumber: typeNumber(phone.app, type), type: type) {
            return fault
        }
        if payload.channel != nil, phone.system < .channels { return .systemHasNoChannels }
        if !hasRoom(number, at: time) { return .tooManyActivities }
        if let budget = settings.startBudget, !budget.allows(&phones[number].startsSpentUntil, at: time) {
            return .startBudgetSpent
        }
        begin(payload, type: type, on: number, at: time)
        rotateAfterUse(identity, at: time)
        return .started
    }

    private func type(named name: String?, _ app: PhoneApp, _ slot: Int) -> UInt16? {
        guard let name else { return nil }
        if !app.hasOneStartToken { return app.types[slot].name == name ? UInt16(slot) : nil }
        return app.types.firstIndex { $0.name == name }.map { UInt16($0) }
    }

    private func fault(
        in payload: PushPayload, app: PhoneApp, typeNumber: Int, type: UInt16
    ) -> PushEffect? {
        guard let content = payload.contentState else { return .contentStateMissing }
        guard let attributes = payload.attributes else { return .attributesMissing }
        if payload.timestamp == nil { return .timestampMissing }
        if !payload.hasAlert { return .alertMissing }
        let type = app.types[Int(type)]
        if !decoder.decodesAttributes(attributes, of: type, typeNumber) { return .attributesNotDecoded }
        return decoder.decodes(content, as: type, typeNumber) ? nil : .contentStateNotDecoded
    }

    /// Whether one more activity may run. If too many ended activities are on the screen, the oldest is
    /// removed.
    private func hasRoom(_ number: Int, at time: Int64) -> Bool {
        var running = 0
        var ended = 0
        for index in indices(of: number) {
            settle(index, at: time)
            if activities[index].isRunning { running += 1 }
            guard activities[index].state == .ended else { continue }
            ended += 1
            if ended >= settings.endedMax { remove(index, at: time) }
        }
        return running < settings.activitiesMax
    }

    /// Creates an activity, started by a push or by the app itself.
    func begin(_ payload: PushPayload, type: UInt16, on number: Int, at time: Int64) {
        let index = takeFreeActivity()
        let occurrence = UInt64(phones[number].starts)
        phones[number].starts &+= 1
        let app = apps[Int(phones[number].app)]
        var activity = PhoneActivity()
        activity.state = .active
        activity.life = activities[index].life &+ 1
        activity.type = type
        activity.phone = Int32(number)
        activity.next = phones[number].firstActivity
        phones[number].firstActivity = Int32(index)
        if let content = payload.contentState { activity.content = contents.use(content) }
        if let attributes = payload.attributes {
            let number = typeNumber(phones[number].app, type)
            let group = decoder.group(in: attributes, of: app.types[Int(type)], number)
            if let group { activity.group = groups.use(group) }
        }
        activity.timestamp = payload.timestamp ?? time / 1_000
        activity.startedAt = time
        activity.changedAt = time
        activity.staleAt = payload.staleDate.map(milliseconds) ?? .max
        if let channel = payload.channel {
            activity.channel = channels.listen(
                index, activity.life,
                on: .init(id: channel, environment: environment(of: phones[number]), app: phones[number].app),
                channelsMax: settings.channelsMax)
        } else if mixing.falls(
            within: settings.updateTokenShare, for: .updateToken, of: number, occurrence: occurrence)
        {
            let range = settings.updateTokenMilliseconds
            let share = mixing.unit(.updateTokenDelay, of: number, occurrence: occurrence)
            activity.tokenAt =
                time + range.lowerBound + Int64(share * Double(range.upperBound - range.lowerBound))
        }
        activities[index] = activity
        schedule(index)
        catchUp(index, at: time)
    }

    private func takeFreeActivity() -> Int {
        if freeActivity >= 0 {
            let index = Int(freeActivity)
            freeActivity = activities[index].next
            return index
        }
        activities.append(PhoneActivity())
        return activities.count - 1
    }

    /// Replaces the start token after its use, as users have observed.
    private func rotateAfterUse(_ identity: PhoneTokens.Identity, at time: Int64) {
        let occurrence = UInt64(phones[identity.phone].starts)
        if mixing.falls(
            within: settings.startTokenRotationShare, for: .startTokenRotation, of: identity.phone,
            occurrence: occurrence)
        {
            rotateStartToken(identity.index, of: identity.phone, at: time)
        }
    }
}
