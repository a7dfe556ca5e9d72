internal import CatalogRecords
internal import Containers
internal import InstallationRecords
package import JSON

/// Actions of a phone's user. Functions with a Boolean result return whether the action was possible. Times are
/// milliseconds since 1970.
extension Phones {
    /// Returns the number of the phone with this installation, or nil if no such phone exists.
    package func number(ofInstallation installation: String) -> Int? {
        names.number(ofInstallation: installation, phoneCount: phones.count)
    }

    /// Renames an installation that was added with a population.
    package func rename(phone number: Int, to installation: String) {
        names.setInstallation(ofPhone: number, to: installation)
    }

    /// Changes the user of the app. Nil logs the user out.
    package func logIn(_ user: String?, onPhone number: Int, at time: Int64) {
        names.setUser(user, ofPhone: number, phone: &phones[number])
        if phones[number].canReport { report(.profile, fromPhone: number, at: time) }
    }

    // MARK: Away and back

    /// Takes the phone offline until `time`.
    package func takeOffline(phone number: Int, until time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.insert(.away)
        phones[number].returnsAt = time
        phoneWakes.push(.init(time: time, index: Int32(number)))
    }

    /// Brings the phone online again. The push that APNs stored for it arrives, and the app sends its withheld
    /// reports.
    package func bringOnline(phone number: Int, at time: Int64) {
        guard phones[number].traits.contains(.away) else { return }
        phones[number].traits.remove(.away)
        deliverStoredPush(toPhone: number, at: time)
        for index in activityIndices(ofPhone: number) {
            advance(activity: index, to: time)
            if activities[index].state != .free { deliverStoredMessage(toActivity: index, at: time) }
        }
        sendWithheldReports(ofPhone: number, at: time)
    }

    // MARK: The app

    /// Quits the app. Its activities stay, and it sends no reports.
    package func quitApp(onPhone number: Int) { phones[number].traits.insert(.quit) }

    /// Opens the app. It sees its activities again, gets the missing tokens, and reports the running
    /// activities to its server.
    package func openApp(onPhone number: Int, at time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.remove(.quit)
        phones[number].traits.insert(.owesReconcileReport)
        for index in activityIndices(ofPhone: number) {
            advance(activity: index, to: time)
            guard activities[index].isRunning, activities[index].channel < 0 else { continue }
            if !activities[index].isTokenReported { activities[index].hasUnreportedToken = true }
            activities[index].tokenIssuedAt = .max
        }
        sendWithheldReports(ofPhone: number, at: time)
    }

    /// Updates the app. It does not run until it is opened, and its start tokens change.
    package func updateApp(onPhone number: Int, at time: Int64) {
        quitApp(onPhone: number)
        for slot in 0..<startTokenCount(of: apps[Int(phones[number].app)]) {
            rotateStartToken(slot: slot, ofPhone: number, at: time)
        }
    }

    /// Deletes the app. Its tokens die, and it cannot report this.
    package func uninstallApp(onPhone number: Int, at time: Int64) {
        guard !phones[number].traits.contains(.removed) else { return }
        phones[number].traits.insert(.removed)
        for index in activityIndices(ofPhone: number) { remove(activity: index, at: time) }
        storedPushes[Int32(number)] = nil
        phones[number].removedAt = time
    }

    /// Reinstalls and opens the app. Its tokens are new, because the old ones died at the removal.
    package func installApp(onPhone number: Int, at time: Int64) {
        guard phones[number].traits.contains(.removed) else { return }
        phones[number].traits.subtract([.removed, .away, .quit, .owesReconcileReport])
        for slot in 0..<startTokenCount(of: apps[Int(phones[number].app)]) {
            startTokens[Int(phones[number].firstStartToken) + slot].replace(
                at: time, diedAt: phones[number].removedAt)
        }
        reportFirstLaunch(ofPhone: number, at: time)
    }

    /// Reports that the app wants no more activities of the type. APNs does not know this.
    @discardableResult
    package func unregister(activityType type: String, onPhone number: Int, at time: Int64) -> Bool {
        let app = apps[Int(phones[number].app)]
        guard !app.hasOneStartToken, let slot = app.types.firstIndex(where: { $0.name == type }) else {
            return false
        }
        if phones[number].canReport { report(.unregister, fromPhone: number, index: slot, at: time) }
        return true
    }

    /// Starts an activity from the open app.
    @discardableResult
    package func startActivity(
        ofType type: String, attributes: RawJSON, contentState: RawJSON, onPhone number: Int, at time: Int64
    ) -> Bool {
        let app = apps[Int(phones[number].app)]
        guard let index = app.types.firstIndex(where: { $0.name == type }) else { return false }
        var payload = PushPayload()
        payload.attributes = attributes
        payload.contentState = contentState
        createActivity(from: payload, type: UInt16(index), onPhone: number, at: time)
        return true
    }

    // MARK: Activities

    /// Dismisses the activity.
    @discardableResult
    package func dismiss(activity: String, onPhone number: Int, at time: Int64) -> Bool {
        guard let index = index(ofActivity: activity, onPhone: number) else { return false }
        remove(activity: index, at: time)
        return true
    }

    /// Taps the activity, which opens the app.
    @discardableResult
    package func tap(activity: String, onPhone number: Int, at time: Int64) -> Bool {
        guard let index = index(ofActivity: activity, onPhone: number) else { return false }
        openApp(onPhone: number, at: time)
        if phones[number].canReport { report(.tap, fromPhone: number, index: index, at: time) }
        return true
    }

    /// Replaces the activity's token. The old token is dead.
    @discardableResult
    package func rotateToken(ofActivity activity: String, onPhone number: Int, at time: Int64) -> Bool {
        guard let index = index(ofActivity: activity, onPhone: number), activities[index].isRunning else {
            return false
        }
        rotateUpdateToken(ofActivity: index, at: time)
        return true
    }

    /// Returns the index of the phone's activity with this id, or nil if it is not on the screen.
    private func index(ofActivity activity: String, onPhone number: Int) -> Int? {
        activityIndices(ofPhone: number).first {
            activityID(index: $0, slotGeneration: activities[$0].slotGeneration) == activity
        }
    }

    // MARK: Tokens

    /// Replaces the update token of an activity, if the app has one, and reports the new token.
    func rotateUpdateToken(ofActivity index: Int, at time: Int64) {
        guard activities[index].isTokenReported || activities[index].hasUnreportedToken else { return }
        activities[index].tokenGeneration &+= 1
        activities[index].tokenRegisteredAt = time
        activities[index].hasUnreportedToken = true
        if phones[Int(activities[index].phone)].canReport { reportToken(ofActivity: index, at: time) }
    }

    /// Replaces a start token, and reports the new token.
    func rotateStartToken(slot: Int, ofPhone number: Int, at time: Int64) {
        let index = Int(phones[number].firstStartToken) + slot
        startTokens[index].replace(at: time, diedAt: time)
        if phones[number].canReport {
            report(.startToken, fromPhone: number, index: slot, at: time)
        } else {
            phones[number].traits.insert(.owesReconcileReport)
        }
    }
}
