/* SPDX-License-Identifier: MIT */
/* The meta-schemas of draft 2020-12, as a $ref may name them.
 *
 * They say what the draft says, without its titles and comments. Written with
 * single quotes, which no string in them contains, and turned when asked for. */
#include "base/schema_impl.h"
#include "base/str.h"

#define BASE "https://json-schema.org/draft/2020-12/"

/* What all of them begin with: id, vocabulary, and the anchor that the others
 * override. */
#define HEAD(id, vocab) \
	"{'$schema':'" BASE "schema','$id':'" BASE id "','$vocabulary':{" vocab \
	"},'$dynamicAnchor':'meta','type':['object','boolean'],"
#define VOCAB(name) "'" BASE "vocab/" name "':true"

#define SUB "{'$dynamicRef':'#meta'}"
#define SUB_MAP "{'type':'object','additionalProperties':" SUB ",'default':{}}"
#define SUB_LIST "{'$ref':'#/$defs/schemaArray'}"
#define DEF(name) "{'$ref':'#/$defs/" name "'}"
#define IN(meta) "{'$ref':'meta/" meta "'}"

struct meta {
	const char *uri;
	const char *text;
};

/* Laid out by hand: the tool breaks texts anywhere. */
/* clang-format off */
static const struct meta metas[] = {
	{ BASE "schema",
	  HEAD("schema",
		VOCAB("core") "," VOCAB("applicator") "," VOCAB("unevaluated") ","
		VOCAB("validation") "," VOCAB("meta-data") "," VOCAB("format-annotation") ","
		VOCAB("content"))
	  "'allOf':["
		IN("core") "," IN("applicator") "," IN("unevaluated") "," IN("validation") ","
		IN("meta-data") "," IN("format-annotation") "," IN("content") "],"
	  "'properties':{"
		"'definitions':" SUB_MAP ","
		"'dependencies':{'type':'object','additionalProperties':{"
			"'anyOf':[" SUB "," IN("validation#/$defs/stringArray") "]},"
			"'deprecated':true,'default':{}},"
		"'$recursiveAnchor':{'$ref':'meta/core#/$defs/anchorString','deprecated':true},"
		"'$recursiveRef':{'$ref':'meta/core#/$defs/uriReferenceString',"
			"'deprecated':true}}}" },

	{ BASE "meta/core",
	  HEAD("meta/core", VOCAB("core"))
	  "'properties':{"
		"'$id':{'$ref':'#/$defs/uriReferenceString','pattern':'^[^#]*#?$'},"
		"'$schema':" DEF("uriString") ","
		"'$ref':" DEF("uriReferenceString") ","
		"'$anchor':" DEF("anchorString") ","
		"'$dynamicRef':" DEF("uriReferenceString") ","
		"'$dynamicAnchor':" DEF("anchorString") ","
		"'$vocabulary':{'type':'object','propertyNames':" DEF("uriString") ","
			"'additionalProperties':{'type':'boolean'}},"
		"'$comment':{'type':'string'},"
		"'$defs':{'type':'object','additionalProperties':" SUB "}},"
	  "'$defs':{"
		"'anchorString':{'type':'string','pattern':'^[A-Za-z_][-A-Za-z0-9._]*$'},"
		"'uriString':{'type':'string','format':'uri'},"
		"'uriReferenceString':{'type':'string','format':'uri-reference'}}}" },

	{ BASE "meta/applicator",
	  HEAD("meta/applicator", VOCAB("applicator"))
	  "'properties':{"
		"'prefixItems':" SUB_LIST ",'items':" SUB ",'contains':" SUB ","
		"'additionalProperties':" SUB ",'properties':" SUB_MAP ","
		"'patternProperties':{'type':'object','additionalProperties':" SUB ","
			"'propertyNames':{'format':'regex'},'default':{}},"
		"'dependentSchemas':" SUB_MAP ",'propertyNames':" SUB ","
		"'if':" SUB ",'then':" SUB ",'else':" SUB ","
		"'allOf':" SUB_LIST ",'anyOf':" SUB_LIST ",'oneOf':" SUB_LIST ",'not':" SUB "},"
	  "'$defs':{'schemaArray':{'type':'array','minItems':1,'items':" SUB "}}}" },

	{ BASE "meta/unevaluated",
	  HEAD("meta/unevaluated", VOCAB("unevaluated"))
	  "'properties':{'unevaluatedItems':" SUB ",'unevaluatedProperties':" SUB "}}" },

	{ BASE "meta/validation",
	  HEAD("meta/validation", VOCAB("validation"))
	  "'properties':{"
		"'type':{'anyOf':[" DEF("simpleTypes") ",{'type':'array',"
			"'items':" DEF("simpleTypes") ",'minItems':1,'uniqueItems':true}]},"
		"'const':true,'enum':{'type':'array','items':true},"
		"'multipleOf':{'type':'number','exclusiveMinimum':0},"
		"'maximum':{'type':'number'},'exclusiveMaximum':{'type':'number'},"
		"'minimum':{'type':'number'},'exclusiveMinimum':{'type':'number'},"
		"'maxLength':" DEF("nonNegativeInteger") ","
		"'minLength':" DEF("nonNegativeIntegerDefault0") ","
		"'pattern':{'type':'string','format':'regex'},"
		"'maxItems':" DEF("nonNegativeInteger") ","
		"'minItems':" DEF("nonNegativeIntegerDefault0") ","
		"'uniqueItems':{'type':'boolean','default':false},"
		"'maxContains':" DEF("nonNegativeInteger") ","
		"'minContains':{'$ref':'#/$defs/nonNegativeInteger','default':1},"
		"'maxProperties':" DEF("nonNegativeInteger") ","
		"'minProperties':" DEF("nonNegativeIntegerDefault0") ","
		"'required':" DEF("stringArray") ","
		"'dependentRequired':{'type':'object',"
			"'additionalProperties':" DEF("stringArray") "}},"
	  "'$defs':{"
		"'nonNegativeInteger':{'type':'integer','minimum':0},"
		"'nonNegativeIntegerDefault0':{'$ref':'#/$defs/nonNegativeInteger','default':0},"
		"'simpleTypes':{'enum':['array','boolean','integer','null','number','object',"
			"'string']},"
		"'stringArray':{'type':'array','items':{'type':'string'},'uniqueItems':true,"
			"'default':[]}}}" },

	{ BASE "meta/meta-data",
	  HEAD("meta/meta-data", VOCAB("meta-data"))
	  "'properties':{"
		"'title':{'type':'string'},'description':{'type':'string'},'default':true,"
		"'deprecated':{'type':'boolean','default':false},"
		"'readOnly':{'type':'boolean','default':false},"
		"'writeOnly':{'type':'boolean','default':false},"
		"'examples':{'type':'array','items':true}}}" },

	{ BASE "meta/format-annotation",
	  HEAD("meta/format-annotation", VOCAB("format-annotation"))
	  "'properties':{'format':{'type':'string'}}}" },

	{ BASE "meta/format-assertion",
	  HEAD("meta/format-assertion", VOCAB("format-assertion"))
	  "'properties':{'format':{'type':'string'}}}" },

	{ BASE "meta/content",
	  HEAD("meta/content", VOCAB("content"))
	  "'properties':{"
		"'contentEncoding':{'type':'string'},'contentMediaType':{'type':'string'},"
		"'contentSchema':" SUB "}}" },
};
/* clang-format on */

struct bread_str brd_schema_meta(struct arena *a, struct bread_str uri)
{
	struct bread_str text = { 0 };

	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		char *z;

		if (!brd_str_is(uri, metas[i].uri))
			continue;
		z = brd_arena_strz(a, brd_str(metas[i].text));
		text = brd_str(z);
		for (; *z; z++)
			if (*z == '\'')
				*z = '"';
		break;
	}
	return text;
}
