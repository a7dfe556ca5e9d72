internal import APNs
internal import Identifiers
internal import JSON
internal import Payloads

/// The JSON form of the screens of a phone and of a group, for `PhoneRoutes`.
extension PhoneScreen {
    func writeFields(to json: inout JSONWriter) {
        json.field("installation", installation)
        json.field("user", user)
        json.field("app", app)
        json.field("environment", environment.rawValue)
        json.field("system", system.description)
        json.field("isAway", isAway)
        json.field("isQuit", isQuit)
        json.field("isRemoved", isRemoved)
        json.field("isSwitchedOff", isSwitchedOff)
        json.field("allowsFrequentUpdates", allowsFrequentUpdates)
        json.name("activities")
        json.beginArray()
        for activity in activities {
            json.beginObject()
            activity.writeFields(to: &json)
            json.endObject()
        }
        json.endArray()
        json.name("received")
        json.beginArray()
        for push in receivedPushes {
            json.beginObject()
            push.writeFields(to: &json)
            json.endObject()
        }
        json.endArray()
    }
}

extension PhoneScreen.ReceivedPush {
    fileprivate func writeFields(to json: inout JSONWriter) {
        json.field("at", receivedAt)
        json.field("id", id.description)
        json.field("event", event?.rawValue)
        json.field("timestamp", timestamp)
        json.field("priority", priority)
        json.field("effect", "\(effect)")
        json.field("says", effect.message)
        if let problem {
            json.object("problem") { json in
                json.field("path", problem.path)
                json.field("says", problem.message)
            }
        }
    }
}

extension PhoneScreen.Activity {
    fileprivate func writeFields(to json: inout JSONWriter) {
        json.field("activity", id)
        json.field("attributesType", attributesType)
        json.field("group", group)
        json.field("state", state.rawValue)
        json.field("contentState", contentState)
        json.field("timestamp", timestamp)
        json.field("since", contentChangedAt)
        json.field("startedAt", startedAt)
        json.field("channel", channel)
        json.field("isTokenReported", isTokenReported)
    }
}

extension GroupScreens {
    func writeFields(to json: inout JSONWriter) {
        json.field("group", group)
        json.field("activities", activities)
        json.field("phonesWithSeveral", phonesWithSeveral)
        json.field("states", stateCount)
        json.name("shown")
        json.beginArray()
        for shown in shownStates {
            json.beginObject()
            json.field("contentState", shown.contentState)
            json.field("activities", shown.activities)
            json.endObject()
        }
        json.endArray()
    }
}
