internal import Containers
package import LiveActivity

// Actions of a phone's user. Functions with a Boolean result return whether the action applied.

extension Phones {
    package func number(of installation: String) -> Int? {
        names.number(installation, count: phones.count)
    }

    /// Renames an installation that was added with a population.
    package func rename(_ number: Int, to installation: String) { names.name(number, installation) }

    /// Changes the user of the app. Nil logs the user out.
    package func logIn(_ user: String?, on number: Int, at time: Int64) {
        names.logIn(user, on: number, &phones[number])
        if phones[number].canReport { report(.profile, number, at: time) }
    }

    // MARK: Away and back

    /// Takes the phone offline until `time`.
    package func goAway(_ number: Int, until time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.insert(.away)
        phones[number].changesAt = time
        phoneWakes.push(.init(time: time, index: Int32(number)))
    }

    package func returnNow(_ number: Int, at time: Int64) { comeBack(number, at: time) }

    // MARK: The app

    /// Quits the app. Its activities stay, and it sends no reports.
    package func quit(_ number: Int) { phones[number].traits.insert(.quit) }

    /// Opens the app. It sees its activities again, gets the missing tokens, and reports the running
    /// activities to its server.
    package func open(_ number: Int, at time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.remove(.quit)
        phones[number].traits.insert(.owesReconcile)
        for index in indices(of: number) {
            settle(index, at: time)
            guard activities[index].isRunning, activities[index].channel < 0 else { continue }
            if !activities[index].isTokenReported { activities[index].owesToken = true }
            activities[index].tokenAt = .max
        }
        reportWhatIsOwed(number, at: time)
    }

    /// Updates the app. It does not run until it is opened, and its start tokens change.
    package func update(_ number: Int, at time: Int64) {
        quit(number)
        for slot in 0..<startTokenCount(apps[Int(phones[number].app)]) {
            rotateStartToken(slot, of: number, at: time)
        }
    }

    /// Deletes the app. Its tokens die, and it cannot report this.
    package func uninstall(_ number: Int, at time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.insert(.removed)
        for index in indices(of: number) { remove(index, at: time) }
        stored[Int32(number)] = nil
        phones[number].changesAt = time
    }

    /// Reinstalls and opens the app. Its tokens are new, because the old ones died at the removal.
    package func install(_ number: Int, at time: Int64) {
        guard phones[number].traits.contains(.removed) else { return }
        phones[number].traits.subtract([.removed, .away, .quit, .owesReconcile])
        for slot in 0..<startTokenCount(apps[Int(phones[number].app)]) {
            startTokens[Int(phones[number].firstStartToken) + slot].replace(
                at: time, diedAt: phones[number].changesAt)
        }
        reportFirstLaunch(number, at: time)
    }

    /// Reports that the app wants no more activities of the type. APNs does not learn of this.
    @discardableResult
    package func unregister(_ type: String, on number: Int, at time: Int64) -> Bool {
        let app = apps[Int(phones[number].app)]
        guard !app.hasOneStartToken, let slot = app.types.firstIndex(where: { $0.name == type }) else {
            return false
        }
        if phones[number].canReport { report(.unregister, number, index: slot, at: time) }
        return true
    }

    /// Starts an activity from the open app.
    @discardableResult
    package func startLocally(
        _ type: String, attributes: RawJSON, contentState: RawJSON, on number: Int, at time: Int64
    ) -> Bool {
        let app = apps[Int(phones[number].app)]
        guard let index = app.types.firstIndex(where: { $0.name == type }) else { return false }
        var payload = PushPayload()
        payload.attributes = attributes
        payload.contentState = contentState
        begin(payload, type: UInt16(index), on: number, at: time)
        return true
    }

    // MARK: Activities

    /// Dismisses the activity.
    @discardableResult
    package func dismiss(_ activity: String, on number: Int, at time: Int64) -> Bool {
        guard let index = index(of: activity, on: number) else { return false }
        remove(index, at: time)
        return true
    }

    /// Taps the activity, which opens the app.
    @discardableResult
    package func tap(_ activity: String, on number: Int, at time: Int64) -> Bool {
        guard let index = index(of: activity, on: number) else { return false }
        open(number, at: time)
        if phones[number].canReport { report(.tap, number, index: index, at: time) }
        return true
    }

    /// Replaces the activity's token. The old token is dead.
    @discardableResult
    package func rotateToken(of activity: String, on number: Int, at time: Int64) -> Bool {
        guard let index = index(of: activity, on: number), activities[index].isRunning else { return false }
        rotateUpdateToken(index, at: time)
        return true
    }

    private func index(of activity: String, on number: Int) -> Int? {
        indices(of: number).first { activityID($0, activities[$0].life) == activity }
    }

    func rotateUpdateToken(_ index: Int, at time: Int64) {
        guard activities[index].isTokenReported || activities[index].owesToken else { return }
        activities[index].generation &+= 1
        activities[index].tokenRegisteredAt = time
        activities[index].owesToken = true
        if phones[Int(activities[index].phone)].canReport { reportToken(index, at: time) }
    }

    func rotateStartToken(_ slot: Int, of number: Int, at time: Int64) {
        let index = Int(phones[number].firstStartToken) + slot
        startTokens[index].replace(at: time, diedAt: time)
        if phones[number].canReport {
            report(.startToken, number, index: slot, at: time)
        } else {
            phones[number].traits.insert(.owesReconcile)
        }
    }
}
