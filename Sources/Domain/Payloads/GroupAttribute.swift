/// The attribute of a start that names the group. Without it the phone could not report the group of its
/// activity.
package struct GroupAttribute: Sendable, Hashable {
    /// `netmeraGroupId`, unless the activity type names another attribute.
    package let name: String
    package let group: String

    package static let defaultName = "netmeraGroupId"

    package init(name: String = GroupAttribute.defaultName, group: String) {
        self.name = name
        self.group = group
    }
}
