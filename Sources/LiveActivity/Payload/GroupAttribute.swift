/// How a phone learns its group: the attribute of that name in what a start carries. Without it the
/// phone could never report to which group its activity belongs.
package struct GroupAttribute: Sendable, Hashable {
    /// `netmeraGroupId`, unless the activity type names another.
    package let name: String
    package let group: String

    package static let defaultName = "netmeraGroupId"

    package init(name: String = GroupAttribute.defaultName, group: String) {
        self.name = name
        self.group = group
    }
}
