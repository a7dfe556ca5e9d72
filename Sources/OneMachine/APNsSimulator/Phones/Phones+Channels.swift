/// Broadcasts to the activities that listen to a channel. Times are milliseconds since 1970.
extension Phones {
    /// Longest time for which Apple stores a channel's newest message.
    private static let storedMilliseconds: Int64 = 8 * 3_600_000

    /// Begins a broadcast. Listeners above the limit of one tick receive it in the next ticks.
    func broadcast(_ push: AcceptedPush, on id: String) {
        for (number, app) in apps.enumerated() where app.bundleID == push.bundleID {
            let key = PhoneChannels.ChannelKey(id: id, environment: push.environment, app: UInt16(number))
            guard let channel = channels.number(of: key, channelsMax: settings.channelsMax) else { continue }
            if push.isStored { channels.channels[Int(channel)].storedMessage = push }
            channels.compactListeners(ofChannel: channel) { isListening($0) }
            let end = channels.channels[Int(channel)].listeners.count
            guard end > 0 else { continue }
            channels.channels[Int(channel)].broadcastsInProgress += 1
            channels.broadcasts.append(.init(channel: channel, push: push, end: end))
        }
        continueBroadcasts(at: push.receivedAt)
    }

    /// Whether the slot still has the activity that joined.
    private func isListening(_ listener: PhoneChannels.Listener) -> Bool {
        let activity = activities[Int(listener.activity)]
        return activity.slotGeneration == listener.slotGeneration && activity.state != .free
    }

    /// Continues the broadcasts, oldest first, up to the limit of one tick.
    func continueBroadcasts(at time: Int64) {
        var remainingListeners = settings.broadcastPhonesPerTick
        while !channels.broadcasts.isEmpty {
            // With too many broadcasts there is no limit, so that all are completed now.
            if channels.broadcasts.count > settings.broadcastsMax { remainingListeners = .max }
            guard remainingListeners > 0 else { return }
            let broadcast = channels.broadcasts[0]
            let listeners = channels.channels[Int(broadcast.channel)].listeners
            let batchSize = min(remainingListeners, broadcast.end - broadcast.nextListener)
            let batchEnd = broadcast.nextListener + batchSize
            for index in broadcast.nextListener..<batchEnd where isListening(listeners[index]) {
                receiveBroadcast(broadcast.push, activity: Int(listeners[index].activity), at: time)
            }
            remainingListeners -= batchSize
            if batchEnd == broadcast.end {
                channels.channels[Int(broadcast.channel)].broadcastsInProgress -= 1
                channels.broadcasts.removeFirst()
            } else {
                channels.broadcasts[0].nextListener = batchEnd
            }
        }
    }

    /// Applies a broadcast to one activity and records the effect.
    private func receiveBroadcast(_ push: AcceptedPush, activity index: Int, at time: Int64) {
        let number = Int(activities[index].phone)
        let traits = phones[number].traits
        if traits.contains(.removed) { return }
        if traits.contains(.away) {
            // A message that the channel stores needs no copy for each phone. The phone gets it when it is
            // back.
            recordReception(
                of: push, onPhone: number, effect: push.isStored ? .stored : .lostWhileAway, at: time)
        } else {
            recordReception(
                of: push, onPhone: number, effect: applyUpdate(push, toActivity: index, at: time), at: time)
        }
    }

    /// Delivers the stored message of the channel to an activity that joined after the broadcast, or whose
    /// phone was away.
    func deliverStoredMessage(toActivity index: Int, at time: Int64) {
        let activity = activities[index]
        guard activity.channel >= 0, let push = channels.channels[Int(activity.channel)].storedMessage,
            let timestamp = push.payload.timestamp, timestamp > activity.timestamp
        else { return }
        let storedUntil = push.receivedAt + Self.storedMilliseconds
        let requestedExpiration = push.expiration.map(milliseconds(fromSeconds:)) ?? storedUntil
        guard min(requestedExpiration, storedUntil) > time else { return }
        recordReception(
            of: push, onPhone: Int(activity.phone), effect: applyUpdate(push, toActivity: index, at: time),
            at: time)
    }
}
