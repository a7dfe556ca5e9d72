internal import LiveActivity

// Broadcasts.

extension Phones {
    /// Longest time for which Apple stores a channel's newest message.
    private static let storedMilliseconds: Int64 = 8 * 3_600_000

    func broadcast(_ push: AcceptedPush, on id: String) {
        for (number, app) in apps.enumerated() where app.bundleID == push.bundleID {
            let key = PhoneChannels.Key(id: id, environment: push.environment, app: UInt16(number))
            guard let channel = channels.number(key, max: settings.channelsMax) else { continue }
            if push.isStored { channels.channels[Int(channel)].stored = push }
            channels.tidy(channel) { isListening($0) }
            let end = channels.channels[Int(channel)].listeners.count
            guard end > 0 else { continue }
            channels.channels[Int(channel)].walks += 1
            channels.walks.append(.init(channel: channel, push: push, end: end))
        }
        serveBroadcasts(at: push.receivedAt)
    }

    private func isListening(_ listener: PhoneChannels.Listener) -> Bool {
        let activity = activities[Int(listener.activity)]
        return activity.life == listener.life && activity.state != .free
    }

    /// Continues broadcasts along their listeners, in order, up to the limit of one turn.
    func serveBroadcasts(at time: Int64) {
        var left = settings.broadcastPhonesPerTurn
        while !channels.walks.isEmpty {
            if channels.walks.count > settings.broadcastsMax { left = .max }
            guard left > 0 else { return }
            let walk = channels.walks[0]
            let listeners = channels.channels[Int(walk.channel)].listeners
            let end = walk.next + min(left, walk.end - walk.next)
            for index in walk.next..<end where isListening(listeners[index]) {
                hear(walk.push, Int(listeners[index].activity), at: time)
            }
            left -= end - walk.next
            if end == walk.end {
                channels.channels[Int(walk.channel)].walks -= 1
                channels.walks.removeFirst()
            } else {
                channels.walks[0].next = end
            }
        }
    }

    private func hear(_ push: AcceptedPush, _ index: Int, at time: Int64) {
        let number = Int(activities[index].phone)
        let traits = phones[number].traits
        if traits.contains(.removed) { return }
        if traits.contains(.away) {
            // A message that the channel stores needs no copy for each phone. The phone gets it when it is
            // back.
            note(push, on: number, push.isStored ? .stored : .lostWhileAway, at: time)
        } else {
            note(push, on: number, update(push, index, at: time), at: time)
        }
    }

    /// Delivers the stored message of the channel to a listener that joined late or was away.
    func catchUp(_ index: Int, at time: Int64) {
        let activity = activities[index]
        guard activity.channel >= 0, let push = channels.channels[Int(activity.channel)].stored,
            let timestamp = push.payload.timestamp, timestamp > activity.timestamp
        else { return }
        let latest = push.receivedAt + Self.storedMilliseconds
        let expires = min(push.expiration.map(milliseconds) ?? latest, latest)
        guard expires > time else { return }
        note(push, on: Int(activity.phone), update(push, index, at: time), at: time)
    }
}
