/// An attribute that names an activity's group, for example `"netmeraGroupId": "match-42"`. Flotilla adds it to
/// the attributes of each start in a group, so that the phone can report the group of its activity.
package struct GroupAttribute: Sendable, Hashable {
    /// The name of the attribute, if the activity type names no other.
    package static let defaultName = "netmeraGroupId"

    package let name: String
    /// The group's id.
    package let group: String

    package init(name: String = GroupAttribute.defaultName, group: String) {
        self.name = name
        self.group = group
    }
}
