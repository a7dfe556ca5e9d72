internal import APNs
internal import Identifiers
internal import JSON
internal import Payloads

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
        for reception in receivedPushes {
            json.beginObject()
            json.field("at", reception.receivedAt)
            json.field("id", reception.id.description)
            json.field("event", reception.event?.rawValue)
            json.field("timestamp", reception.timestamp)
            json.field("priority", reception.priority)
            json.field("effect", "\(reception.effect)")
            json.field("says", reception.effect.message)
            if let problem = reception.problem {
                json.object("problem") { json in
                    json.field("path", problem.path)
                    json.field("says", problem.message)
                }
            }
            json.endObject()
        }
        json.endArray()
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
